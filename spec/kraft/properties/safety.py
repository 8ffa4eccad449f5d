"""The safety properties of KRaft, as predicates over states and steps.

The same properties are checked for every era. The reference names the public TLA+ model of KIP-966 where it has the property.
"""

from __future__ import annotations

from kafka_spec.spec.kraft.properties.epochs import EPOCHS
from kafka_spec.spec.kraft.properties.isr import CANDIDATES
from kafka_spec.spec.kraft.properties.records import RECORDS
from kafka_spec.spec.kraft.properties.topics import TOPICS
from kafka_spec.spec.vocabulary.table import Property

SAFETY: tuple[Property, ...] = (*EPOCHS, *CANDIDATES, *RECORDS, *TOPICS)
"""The invariants and step invariants."""
