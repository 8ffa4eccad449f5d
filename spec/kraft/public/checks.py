"""The checks of the public TLA+ models of Kafka 3.5 and of KIP-966, with the counts of TLC (tests/oracles/kraft-counts.json)."""

from __future__ import annotations

from kafka_spec.spec.vocabulary.table import Check, Untestable

SOMEBODY_IS_ELIGIBLE = Untestable("somebody is always eligible", ("MinIsrRecoveryQuorum",))
NO_TWO_LOGS = Untestable("no two logs have records", ("LogMatching",))


def _check(version: str, bounds: str, *not_tested: Untestable, **traces: int) -> Check:
    why = "the public TLA+ model, and the counts that TLC has there"
    return Check(f"kraft/public_{version}", bounds, "violated" if traces else "holds", traces, why=why, not_tested=not_tested)


CHECKS: tuple[Check, ...] = (
    _check("v3_5", "a1"),
    _check("v3_5", "a2"),
    _check("v3_5", "c4b"),
    _check("v3_5", "c5b"),
    *(_check("kip_966", bounds, SOMEBODY_IS_ELIGIBLE) for bounds in ("a1", "a3", "f1", "e3")),
    _check("v3_5-last-replica-standing", "c1", LeaderCompleteness=8, LeaderCandidateCompleteness=8),
    _check("v3_5-without-broker-epochs", "c4b", LeaderCandidateCompleteness=13),
    _check("kip_966-commits-below-min-isr", "c1", NO_TWO_LOGS, SOMEBODY_IS_ELIGIBLE, LeaderCandidateCompleteness=4),
)
