"""Kafka's controller and replication protocol as transition tables, and the tools to check a protocol of your own.

This module is the public interface. It contains no logic and imports each name on first use, so the tables need only the standard
library.

    from kafka_spec import MODELS, check, trace_of

    result = check(MODELS["replication/kip_279"], {"replicas": 3, "log_size": 1, "max_records": 1, "max_leader_epoch": 1})
    print(result.verdict, trace_of(result, "StrongIsr"))
"""

from __future__ import annotations

import os.path

if not os.path.isdir(f"{__path__[0]}/spec"):  # noqa: PTH112 - pathlib takes longer to import than all of this
    __path__.append(__path__[0].rpartition(os.sep)[0])  # a checkout: kafka_spec.spec is the folder spec/ beside this one

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kafka_spec.model_check.budget import Budget as Budget
    from kafka_spec.model_check.budget import interruptible as interruptible
    from kafka_spec.model_check.check import check as check
    from kafka_spec.model_check.exploration import Distribution as Distribution
    from kafka_spec.model_check.exploration import EngineError as EngineError
    from kafka_spec.model_check.exploration import Exploration as Exploration
    from kafka_spec.model_check.exploration import Finding as Finding
    from kafka_spec.model_check.inductive import InductiveResult as InductiveResult
    from kafka_spec.model_check.inductive import check_inductive as check_inductive
    from kafka_spec.model_check.refinement import RefinementResult as RefinementResult
    from kafka_spec.model_check.refinement import judge_refinement as judge_refinement
    from kafka_spec.model_check.spark.states_table import states_of as states_of
    from kafka_spec.model_check.traces.counterexample import trace_of as trace_of
    from kafka_spec.model_check.traces.walk import Walk as Walk
    from kafka_spec.spec.brokers import Assignment as Assignment
    from kafka_spec.spec.brokers import Broker as Broker
    from kafka_spec.spec.brokers import BrokerOrNone as BrokerOrNone
    from kafka_spec.spec.brokers import PerBroker as PerBroker
    from kafka_spec.spec.catalogue.machines import MACHINES as MACHINES
    from kafka_spec.spec.catalogue.models import MODELS as MODELS
    from kafka_spec.spec.language.domain import NO_BROKERS as NO_BROKERS
    from kafka_spec.spec.language.domain import NO_MEMBERS as NO_MEMBERS
    from kafka_spec.spec.language.domain import NONE as NONE
    from kafka_spec.spec.language.domain import ArrayOf as ArrayOf
    from kafka_spec.spec.language.domain import BagOf as BagOf
    from kafka_spec.spec.language.domain import Bound as Bound
    from kafka_spec.spec.language.domain import BrokerSet as BrokerSet
    from kafka_spec.spec.language.domain import Counters as Counters
    from kafka_spec.spec.language.domain import Distinct as Distinct
    from kafka_spec.spec.language.domain import Domain as Domain
    from kafka_spec.spec.language.domain import Flag as Flag
    from kafka_spec.spec.language.domain import MapOf as MapOf
    from kafka_spec.spec.language.domain import Member as Member
    from kafka_spec.spec.language.domain import MemberOrNone as MemberOrNone
    from kafka_spec.spec.language.domain import MemberSet as MemberSet
    from kafka_spec.spec.language.domain import OneOf as OneOf
    from kafka_spec.spec.language.domain import Option as Option
    from kafka_spec.spec.language.domain import Queue as Queue
    from kafka_spec.spec.language.domain import Range as Range
    from kafka_spec.spec.language.domain import SequenceOf as SequenceOf
    from kafka_spec.spec.language.domain import SetOf as SetOf
    from kafka_spec.spec.language.domain import SpecError as SpecError
    from kafka_spec.spec.language.domain import Spent as Spent
    from kafka_spec.spec.language.domain import StateOf as StateOf
    from kafka_spec.spec.language.domain import add as add
    from kafka_spec.spec.language.domain import append as append
    from kafka_spec.spec.language.domain import assign as assign
    from kafka_spec.spec.language.domain import contains as contains
    from kafka_spec.spec.language.domain import copy_of as copy_of
    from kafka_spec.spec.language.domain import count as count
    from kafka_spec.spec.language.domain import drop as drop
    from kafka_spec.spec.language.domain import excluding as excluding
    from kafka_spec.spec.language.domain import field as field
    from kafka_spec.spec.language.domain import first_brokers as first_brokers
    from kafka_spec.spec.language.domain import first_members as first_members
    from kafka_spec.spec.language.domain import has as has
    from kafka_spec.spec.language.domain import including as including
    from kafka_spec.spec.language.domain import members_of as members_of
    from kafka_spec.spec.language.domain import message as message
    from kafka_spec.spec.language.domain import pop_first as pop_first
    from kafka_spec.spec.language.domain import present as present
    from kafka_spec.spec.language.domain import put as put
    from kafka_spec.spec.language.domain import remove as remove
    from kafka_spec.spec.language.domain import reset as reset
    from kafka_spec.spec.language.domain import set_of as set_of
    from kafka_spec.spec.language.domain import singleton as singleton
    from kafka_spec.spec.language.domain import size as size
    from kafka_spec.spec.language.domain import tagged as tagged
    from kafka_spec.spec.language.domain import truncate as truncate
    from kafka_spec.spec.language.domain import value_of as value_of
    from kafka_spec.spec.machines.partition import PARTITION as PARTITION
    from kafka_spec.spec.machines.replica import REPLICA as REPLICA
    from kafka_spec.spec.machines.replica import REPLICA_0_10 as REPLICA_0_10
    from kafka_spec.spec.vocabulary.event_log import EventLog as EventLog
    from kafka_spec.spec.vocabulary.table import Abstraction as Abstraction
    from kafka_spec.spec.vocabulary.table import Among as Among
    from kafka_spec.spec.vocabulary.table import BoundSet as BoundSet
    from kafka_spec.spec.vocabulary.table import Check as Check
    from kafka_spec.spec.vocabulary.table import Constants as Constants
    from kafka_spec.spec.vocabulary.table import Decision as Decision
    from kafka_spec.spec.vocabulary.table import ElementOf as ElementOf
    from kafka_spec.spec.vocabulary.table import ItemOf as ItemOf
    from kafka_spec.spec.vocabulary.table import Machine as Machine
    from kafka_spec.spec.vocabulary.table import Overlap as Overlap
    from kafka_spec.spec.vocabulary.table import Property as Property
    from kafka_spec.spec.vocabulary.table import Refinement as Refinement
    from kafka_spec.spec.vocabulary.table import Row as Row
    from kafka_spec.spec.vocabulary.table import Rule as Rule
    from kafka_spec.spec.vocabulary.table import Spec as Spec
    from kafka_spec.spec.vocabulary.table import Symmetric as Symmetric
    from kafka_spec.spec.vocabulary.table import Untestable as Untestable
    from kafka_spec.spec.vocabulary.table import anywhere as anywhere
    from kafka_spec.spec.vocabulary.table import eventually as eventually
    from kafka_spec.spec.vocabulary.table import eventually_always as eventually_always
    from kafka_spec.spec.vocabulary.table import fire as fire
    from kafka_spec.spec.vocabulary.table import invariant as invariant
    from kafka_spec.spec.vocabulary.table import leads_to as leads_to
    from kafka_spec.spec.vocabulary.table import lemma as lemma
    from kafka_spec.spec.vocabulary.table import reachable as reachable
    from kafka_spec.spec.vocabulary.table import recoverable as recoverable
    from kafka_spec.spec.vocabulary.table import step_invariant as step_invariant
    from kafka_spec.spec.vocabulary.table_json import load_table as load_table
    from kafka_spec.spec.vocabulary.table_json import table_text as table_text
    from kafka_spec.spec.vocabulary.trace import Action as Action
    from kafka_spec.spec.vocabulary.trace import FieldChange as FieldChange
    from kafka_spec.spec.vocabulary.trace import Step as Step
    from kafka_spec.spec.vocabulary.trace import Trace as Trace
    from kafka_spec.spec.zookeeper.machines import CONTROLLER as CONTROLLER
    from kafka_spec.spec.zookeeper.machines import ROLE as ROLE

_PLACES = {
    "model_check.check": "check",
    "model_check.traces.counterexample": "trace_of",
    "model_check.refinement": "RefinementResult judge_refinement",
    "model_check.budget": "Budget interruptible",
    "model_check.inductive": "InductiveResult check_inductive",
    "model_check.exploration": "Distribution EngineError Exploration Finding",
    "model_check.spark.states_table": "states_of",
    "model_check.traces.walk": "Walk",
    "spec.brokers": "Assignment Broker BrokerOrNone PerBroker",
    "spec.zookeeper.machines": "CONTROLLER ROLE",
    "spec.language.domain": "ArrayOf BagOf Bound BrokerSet Counters Distinct Domain Flag MapOf Member MemberOrNone MemberSet NONE "
    "NO_BROKERS NO_MEMBERS OneOf Option Queue Range SequenceOf SetOf SpecError Spent StateOf add append "
    "assign contains copy_of count drop excluding field first_brokers first_members has including members_of "
    "message pop_first present put remove reset set_of singleton size tagged truncate value_of",
    "spec.vocabulary.event_log": "EventLog",
    "spec.vocabulary.table_json": "load_table table_text",
    "spec.catalogue.machines": "MACHINES",
    "spec.catalogue.models": "MODELS",
    "spec.machines.partition": "PARTITION",
    "spec.machines.replica": "REPLICA REPLICA_0_10",
    "spec.vocabulary.table": "Abstraction Among BoundSet Check Constants Decision ElementOf ItemOf Machine Overlap Property "
    "Refinement Row Rule Spec Symmetric Untestable anywhere eventually eventually_always fire invariant leads_to lemma reachable "
    "recoverable step_invariant",
    "spec.vocabulary.trace": "Action FieldChange Step Trace",
    "notebook": "load_ipython_extension",
}
"""The public names by the module that defines them: the imports above, for use at run time."""

_PLACE_OF = {name: f"{__name__}.{module}" for module, names in _PLACES.items() for name in names.split()}

__all__ = sorted(_PLACE_OF.keys() - {"load_ipython_extension"})

_FORMER = {"Bounded": "SequenceOf", "Each": "ArrayOf", "holds": "field", "only": "singleton"}
"""Names up to 0.1, for one release."""


def __getattr__(name: str) -> Any:
    """Import a public name on first use.

    Raises:
        AttributeError: there is no such name.
        ImportError: the name needs an extra that is not installed.
    """
    if name in _FORMER:
        from warnings import warn

        warn(f"{__name__}.{name} is now {_FORMER[name]}", DeprecationWarning, stacklevel=2)
        name = _FORMER[name]
    if name not in _PLACE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    from kafka_spec.spec.optional_dependencies import MissingExtra, needing

    place = _PLACE_OF[name]
    try:
        with needing("spark" if name == "states_of" else "check"):
            value = getattr(import_module(place), name)
    except MissingExtra as error:
        raise ImportError(f"{__name__}.{name}: {error}") from None
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names, imported or not."""
    return sorted({*globals(), *__all__})
