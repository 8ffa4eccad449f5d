"""The checks of replication: which version satisfies its properties at which bounds, and what the others violate."""

from __future__ import annotations

from dataclasses import replace

from kafka_spec.spec.vocabulary.table import Check, check_name


def _holds(version: str, bounds: str, why: str, all_rules_fire: bool = True) -> Check:
    return Check(f"replication/{version}", bounds, why=why, all_rules_fire=all_rules_fire)


def _rejected(version: str, bounds: str, why: str, **traces: int) -> Check:
    return Check(
        f"replication/{version}",
        bounds,
        "violated",
        traces,
        why=why,
        everything=True,
        all_rules_fire=True,
        all_properties_tested=True,
    )


def _bug(version: str, bounds: str, why: str, **traces: int) -> Check:
    return Check(f"replication/{version}", bounds, "violated", traces, why=why, all_properties_tested=True)


def _symmetric(check: Check) -> Check:
    """Return a check that keeps one of the states that differ by the names of replicas, which are interchangeable."""
    assert isinstance(check.model, str) and isinstance(check.bounds, str)
    return replace(
        check,
        name=check_name(check.model, check.bounds, "symmetric"),
        normal_form=True,
        why=f"{check.why}; by symmetry, which must say the same",
    )


_KIP_279 = _rejected("kip_279", "three_replicas", "KIP-279 is not enough with a third replica", StrongIsr=12)
_KIP_320 = _holds("kip_320", "large", "KIP-320 satisfies both properties at the largest bounds that CI has time for")

CHECKS: tuple[Check, ...] = (
    _rejected("high_watermark", "small", "truncation to the high watermark loses records", WeakIsr=9, StrongIsr=10),
    _rejected("kip_101", "small", "KIP-101 is not enough", WeakIsr=12, StrongIsr=12),
    _holds("kip_279", "small", "two replicas do not show the flaw of KIP-279"),
    _KIP_279,
    _symmetric(_KIP_279),
    _holds("kip_320_first_try", "three_replicas", "one leader epoch does not show the flaw of the first try", all_rules_fire=False),
    _rejected("kip_320_first_try", "three_epochs", "the first try of KIP-320 is not enough", WeakIsr=12, StrongIsr=13),
    _holds("kip_320", "small", "KIP-320 holds where KIP-101 does not"),
    _holds("kip_320", "three_epochs", "KIP-320 holds where its first try does not"),
    _holds("kip_320", "medium", "KIP-320 holds with logs that diverge in the middle"),
    _KIP_320,
    _symmetric(_KIP_320),
    _bug("kafka_7164", "medium", "KAFKA-7164: a leader epoch that was missed", WeakIsr=15, StrongIsr=15),
    _bug("kafka_7128", "three_replicas", "KAFKA-7128: joining the ISR too early", StrongIsr=12),
    _bug("kafka_7395", "three_epochs", "KAFKA-7395: fetches that are not fenced", WeakIsr=13, StrongIsr=13),
)
