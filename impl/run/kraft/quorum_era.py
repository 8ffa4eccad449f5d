"""Which quorum a run has: the decisions of a release of Kafka, or those of one case of spec/quorum."""

from __future__ import annotations

from kafka_spec.spec.case import Era, release_numbers
from kafka_spec.spec.kraft.eras import ERAS
from kafka_spec.spec.quorum.eras import SUITE
from kafka_spec.spec.quorum.fixed import FIXED
from kafka_spec.spec.vocabulary.table import Constants, Spec

RECORDED_VOTERS, PRE_VOTES = (3, 9), (4, 0)
"""The first releases whose voters are records of the log (KIP-853), and whose nodes ask for pre-votes (KIP-996)."""


def quorum_of(era: Spec) -> Constants:
    """Return the decisions of the quorum beside an era of spec/kraft, or of a version of spec/quorum; `fixed` beside anything else.

    `kraft_version` and `pre_votes` say what the release has.
    """
    decided = {decision.name: decision.value for decision in FIXED.decisions}
    release: tuple[int, ...] = (9,)
    for known in ERAS:
        if era.name == f"kraft/{known.name}":
            release = release_numbers(known.release)
            cases = SUITE.of(Era(known.name, known.summary, known.release, ()))
            decided |= {decision.name: value for case in cases for decision, value in case.decides.items()}
    if era.state is FIXED.state:
        decided |= {decision.name: decision.value for decision in era.decisions}
    return Constants({**decided, "kraft_version": int(release >= RECORDED_VOTERS), "pre_votes": int(release >= PRE_VOTES)})
