"""The vocabulary of specifications: machines with rows, rules, properties, and the spec that contains them.

Everything is validated when the module that declares it is imported; every message names the place and the cure. Engines,
implementation and pictures all read the same objects, and nothing here depends on them.

Theory of operation. A *machine* is an immutable table of *rows*. Its current state is a field of the world's state (with the domain
`StateOf`). A *rule* is one atomic action of the world; it changes a machine only through `fire`, which selects the row from the
table. A *spec* is a state, the rules that change it, the machines that they fire, and its properties. A version
is a spec with a few of these replaced.
"""

from kafka_spec.spec.language.domain import SpecError
from kafka_spec.spec.vocabulary.table.assumptions import Abstraction, BoundSet, Decision, beginning_with, family
from kafka_spec.spec.vocabulary.table.checks import Check, Untestable, check_name
from kafka_spec.spec.vocabulary.table.choices import ChoiceTable
from kafka_spec.spec.vocabulary.table.firing import Attempt, Constants, Overlap, fire
from kafka_spec.spec.vocabulary.table.functions import Name, call, first_line, name_of
from kafka_spec.spec.vocabulary.table.machines import Machine, Row
from kafka_spec.spec.vocabulary.table.normal_forms import Ranks, bring_into_form
from kafka_spec.spec.vocabulary.table.parameters import (
    Among,
    ElementOf,
    ItemOf,
    Parameter,
    arguments,
    elements_of,
    numbers_of,
    numbers_type,
    whole_types,
)
from kafka_spec.spec.vocabulary.table.properties import (
    ABOUT_PATHS,
    DEADLOCK,
    EVENTUAL,
    TYPE_INVARIANT,
    Property,
    PropertyKind,
    Question,
    eventually,
    eventually_always,
    invariant,
    leads_to,
    lemma,
    reachable,
    recoverable,
    step_invariant,
)
from kafka_spec.spec.vocabulary.table.refinements import Refinement
from kafka_spec.spec.vocabulary.table.rules import Fairness, Rule, RuleKind
from kafka_spec.spec.vocabulary.table.spec import Spec, anywhere
from kafka_spec.spec.vocabulary.table.symmetry import Symmetric

__all__ = [
    "ABOUT_PATHS", "DEADLOCK", "EVENTUAL", "TYPE_INVARIANT", "Abstraction", "Among", "Attempt", "BoundSet", "Check",
    "ChoiceTable", "Constants", "Decision", "ElementOf", "Fairness", "ItemOf", "Machine", "Name", "Overlap", "Parameter",
    "Property", "PropertyKind", "Question", "Ranks", "Refinement", "Row", "Rule", "RuleKind", "Spec", "SpecError", "Symmetric",
    "Untestable", "anywhere", "arguments", "beginning_with", "bring_into_form", "call", "check_name", "elements_of",
    "eventually", "eventually_always", "family", "fire", "first_line", "invariant", "leads_to", "lemma", "name_of", "numbers_of",
    "numbers_type", "reachable", "recoverable", "step_invariant", "whole_types",
]  # fmt: skip
