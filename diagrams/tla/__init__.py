"""A whole spec as a module of TLA+: what TLC explores is what the engines explore, in states and verdicts.

Depends on specs and the language of guards and effects, not on an engine. Theory of operation: symbolic execution of the parsed
source translates each function of a spec. A guard becomes a Boolean operator, an effect an operator whose value is the state after
it. A construct without a translation is refused with an error that names it and its function.

    terms       expressions of TLA+ and their layout
    sorts       the TLA+ form of the values of a domain; types: type invariant, initial values, bounds
    text        the module's names, helpers and definitions
    values      operators and conversions; expressions, calls, statements, loops: the language, from the inside out
    frames      the symbolic state along a path through a function
    operators   functions and triggers; module: the whole module; files: the written files
"""
