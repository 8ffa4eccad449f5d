"""The bounds of the public models, as TLC ran them."""

from __future__ import annotations

from functools import partial

from kafka_spec.spec.family import family

_PUBLIC_SIZES = {"brokers": 2, "values": 1, "min_isr": 1, "isr_size": 1}
_PUBLIC_LIMITS = {"losses": 0, "fences": 0, "shrinks": 0, "metadata": 16, "in_flight": 10, "processed": 40}
_public = partial(family, {**_PUBLIC_SIZES, **_PUBLIC_LIMITS})

PUBLIC_KRAFT = (
    _public("a1", "no fault: one replica joins the ISR"),
    _public("a2", "one fence", isr_size=2, fences=1),
    _public("a3", "one broker loses its log", isr_size=2, losses=1),
    _public("c4b", "one replica starts outside the ISR, and one broker loses its log", losses=1),
    _public("c5b", "one replica starts outside the ISR, and one fence", fences=1),
    _public("c1", "min.insync.replicas 2, one fence, one broker loses its log", isr_size=2, min_isr=2, losses=1, fences=1),
    _public("f1", "min.insync.replicas 2, one broker loses its log", isr_size=2, min_isr=2, losses=1),
    _public("e3", "three brokers, no fault", brokers=3, isr_size=2, min_isr=2),
)
"""The constants of runs of TLC on the public model, by the names in tests/oracles."""
