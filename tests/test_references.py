"""Each property of the catalogue names a source that a reader can look up."""

from __future__ import annotations

import re

from kafka_spec.spec.catalogue.models import MODELS
from kafka_spec.spec.kraft.public.versions import SPECS as PUBLIC

SOURCES = {
    "a KIP": r"KIP-\d+",
    "an issue of Kafka": r"KAFKA-\d+",
    "a class of Kafka, and its version": r"Kafka \d+\.\d+ [A-Z]\w+(\.[a-z]\w+(, [a-z]\w+)*)?",
    "a property of the paper on Raft": r"Ongaro and Ousterhout 2014: [A-Z]\w+( [A-Z]\w+)*",
    "a public TLA+ model": r"(Vanlightly/(kafka|raft)-tlaplus [\w./-]+|\w+\.tla \(hachikuji/kafka-specification\))(: [A-Z]\w+)?",
}
"""The forms of a source. A reference is one of them, or several with semicolons between them."""
SOURCE = re.compile("|".join(f"(?:{form})" for form in SOURCES.values()))


def is_reference(text: str) -> bool:
    """Whether a reader can look up each source that a reference names."""
    return all(SOURCE.fullmatch(source) for source in text.split("; "))


def test_each_property_has_a_source() -> None:
    """A property names a KIP, an issue, a class of Kafka with its version, a paper or a public TLA+ model; a goal is a goal."""
    properties = {one for spec in (*MODELS.values(), *PUBLIC) for one in spec.properties}

    assert (
        sorted(
            f"{one.name}: {one.reference!r}"
            for one in properties
            if not is_reference(one.reference) and (one.kind, one.reference) != ("reachable", "goal")
        )
        == []
    )


def test_a_private_name_is_not_a_source() -> None:
    """The names of a private list and a bare class without its version are refused."""
    assert not any(map(is_reference, ("CONVERGE", "ISRNE: KIP-966", "Kafka Partition.makeLeader", "", "goal")))
