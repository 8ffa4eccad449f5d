"""The vocabulary in which a protocol is stated: machines with rows, rules, properties, and the spec that holds them.

Two laws of this file. Everything is validated here, when the module that states it is imported, and every message names
the place and the cure. Nothing here knows an engine, a storage or a picture: engines, implementation and drawings all
read the same objects.

Theory of operation. A *machine* is an immutable table of *rows*; it has no current state, the state of the world has
(a field with the domain `StateOf`). A *rule* is one atomic action of the world; it changes a machine only through
`fire`, which lets the table pick the row. A *spec* is a state, the rules that change it, the machines those fire, and the
properties that are claimed. A version is a spec with a few of these replaced.
"""

from kafka_spec.spec.domain import SpecError
from kafka_spec.spec.table.assumptions import Abstraction, BoundSet, Decision
from kafka_spec.spec.table.firing import Attempt, Constants, Overlap, fire
from kafka_spec.spec.table.functions import Name, call, first_line, name_of
from kafka_spec.spec.table.machines import Machine, Row
from kafka_spec.spec.table.properties import (
    DEADLOCK,
    TYPE_INVARIANT,
    Property,
    PropertyKind,
    invariant,
    leads_to,
    reachable,
    recoverable,
    step_invariant,
)
from kafka_spec.spec.table.rules import Fairness, ItemOf, Rule, RuleKind
from kafka_spec.spec.table.spec import Spec

__all__ = [
    "DEADLOCK", "TYPE_INVARIANT", "Abstraction", "Attempt", "BoundSet", "Constants", "Decision", "Fairness", "ItemOf",
    "Machine", "Name", "Overlap", "Property", "PropertyKind", "Row", "Rule", "RuleKind", "Spec", "SpecError", "call", "fire",
    "first_line", "invariant", "leads_to", "name_of", "reachable", "recoverable", "step_invariant",
]  # fmt: skip
