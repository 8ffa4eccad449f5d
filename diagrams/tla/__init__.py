"""A whole spec as a module of TLA+: what TLC explores is what the engines explore, in states and verdicts.

Knows specs and the language of guards and effects, no engine. Theory of operation: each function of a spec is followed through by
symbolic execution of its parsed source. A guard becomes an operator that is true or false, an effect an operator that is the
state after it. What has no form here is refused, with the function and the construct.

    terms       expressions of TLA+ and their layout
    sorts       what a value of a domain is in TLA+; types: type invariant, fresh values, bounds
    text        the module's names, helpers and definitions
    values      operators and conversions; expressions, calls, statements, loops: the language, from the inside out
    frames      what is known on a way through a function
    operators   functions and triggers; module: the whole; files: what is written
"""
