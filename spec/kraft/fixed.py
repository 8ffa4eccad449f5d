"""`fixed`, the model of KRaft that satisfies every property: its rules, its machines, its decisions.

It is Kafka 4.1 with eligible leader replicas, and a fix for each bug that is a case in cases/.
"""

from __future__ import annotations

from kafka_spec.spec.case import decisions_of
from kafka_spec.spec.kraft import brokers, fetching, initial_states, moves, proposals, reassignment, replica, topics
from kafka_spec.spec.kraft.abstractions import ABSTRACTIONS
from kafka_spec.spec.kraft.cases import CASES
from kafka_spec.spec.kraft.families import KRAFT
from kafka_spec.spec.kraft.machines import MACHINES
from kafka_spec.spec.kraft.properties.liveness import PROGRESS, RECOVERS
from kafka_spec.spec.kraft.properties.safety import SAFETY
from kafka_spec.spec.kraft.state import CACHE_AHEAD, ISR_SIZE, MIN_ISR, OTHER_MIN_ISR, SPARES, UNCLEAN, KRaft
from kafka_spec.spec.vocabulary.table import Decision, Spec, anywhere

DECISIONS: tuple[Decision, ...] = decisions_of(CASES)
"""The decisions of all cases, with their values in `fixed`."""

FIXED = Spec(
    "kraft/fixed",
    "KRaft of Kafka 4.1 with eligible leader replicas, and a fix for each bug that is a switch",
    KRaft,
    rules=(*replica.RULES, *fetching.RULES, *proposals.RULES, *brokers.RULES, *reassignment.RULES, *topics.RULES, *moves.RULES),
    properties=(*SAFETY, RECOVERS, *PROGRESS),
    start=initial_states.START,
    more_bounds=(MIN_ISR, OTHER_MIN_ISR, UNCLEAN, ISR_SIZE, SPARES, CACHE_AHEAD),
    decisions=DECISIONS,
    machines=MACHINES,
    abstractions=ABSTRACTIONS,
    bound_sets=KRAFT,
    fairness="weak each",  # each broker, controller and channel gets its turn
    final=anywhere,  # a quiet cluster waits for its environment; that the protocol gets there is what RECOVERS and PROGRESS claim
    reference="facts about Apache Kafka 3.9 to 4.2",
)
