"""The subcommands `check`, `trace`, `states` and `models`: a module for each, and one for the options they share.

They handle files, the terminal and signals only. stdout gets the result, stderr gets progress and errors.
Exit codes: 0 all as expected and complete, 1 a property violated or an expectation not met, 2 usage, configuration or
table error, 3 inconclusive (budget, memory, interrupt), 4 engines disagree or internal error.
"""
