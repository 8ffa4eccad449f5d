"""What there is to check: every model by its name."""

from __future__ import annotations

from spec.control.eras import SPECS
from spec.replication.versions import (
    high_watermark,
    kafka_7128,
    kafka_7164,
    kafka_7395,
    kip_101,
    kip_279,
    kip_320,
    kip_320_first_try,
)
from spec.table import Spec

_REPLICATION = (high_watermark, kip_101, kip_279, kip_320_first_try, kip_320, kafka_7164, kafka_7128, kafka_7395)

MODELS: dict[str, Spec] = {spec.name: spec for spec in (*(module.SPEC for module in _REPLICATION), *SPECS)}
"""The versions of replication in historical order, then the bugs as variants of kip_320; the control plane: fixed, eras, bugs."""
