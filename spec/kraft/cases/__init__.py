"""The cases of KRaft: bugs and earlier designs, each on one card, by subject.

To add a case, add its card to the file of its subject: `fixed` takes the decision from it, and eras, models and checks follow.
"""

from __future__ import annotations

from kafka_spec.spec.case import Case
from kafka_spec.spec.kraft.cases import isr, proposals, reassignment, settings, topics

CASES: tuple[Case, ...] = (*proposals.CASES, *isr.CASES, *reassignment.CASES, *settings.CASES, *topics.CASES)

CASE = {case.name: case for case in CASES}
