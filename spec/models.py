"""What there is to check: every model by its name."""

from __future__ import annotations

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

MODELS: dict[str, Spec] = {
    module.SPEC.name: module.SPEC
    for module in (high_watermark, kip_101, kip_279, kip_320_first_try, kip_320, kafka_7164, kafka_7128, kafka_7395)
}
"""The versions of replication in historical order, then the bugs as variants of kip_320."""
