"""Kafka's controller and replication protocol as transition tables, and what it takes to check a protocol of your own.

This module is the public door. It holds no logic, and it imports a name only when somebody asks for it, so that the tables
need nothing but the standard library.

    from kafka_spec import MODELS, check, trace_of

    result = check(MODELS["replication/kip_279"], {"replicas": 3, "log_size": 1, "max_records": 1, "max_leader_epoch": 1})
    print(result.verdict, trace_of(result, "StrongIsr"))
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kafka_spec.model_check.check import check
    from kafka_spec.model_check.counterexample import trace_of
    from kafka_spec.model_check.exploration import Budget, EngineError, Exploration
    from kafka_spec.spec.exchange import load_table
    from kafka_spec.spec.models import MACHINES, MODELS
    from kafka_spec.spec.table import Spec, SpecError

__all__ = ["MACHINES", "MODELS", "Budget", "EngineError", "Exploration", "Spec", "SpecError", "check", "load_table", "trace_of"]

_PLACES = {
    "kafka_spec.model_check.check": ("check",),
    "kafka_spec.model_check.counterexample": ("trace_of",),
    "kafka_spec.model_check.exploration": ("Budget", "EngineError", "Exploration"),
    "kafka_spec.spec.exchange": ("load_table",),
    "kafka_spec.spec.models": ("MACHINES", "MODELS"),
    "kafka_spec.spec.table": ("Spec", "SpecError"),
}
_PLACE_OF = {name: module for module, names in _PLACES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for."""
    if name not in _PLACE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_PLACE_OF[name]), name)
