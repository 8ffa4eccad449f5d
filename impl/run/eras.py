"""The eras that the implementation runs, as `--era` names them: versions of the models."""

from __future__ import annotations

from kafka_spec.spec.case import release_numbers
from kafka_spec.spec.kraft.eras import ERAS as KRAFT
from kafka_spec.spec.kraft.eras import SPECS as KRAFT_SPECS
from kafka_spec.spec.kraft.fixed import FIXED as KRAFT_FIXED
from kafka_spec.spec.quorum.eras import SPECS as QUORUM_SPECS
from kafka_spec.spec.quorum.fixed import FIXED as QUORUM_FIXED
from kafka_spec.spec.vocabulary.table import Spec, SpecError
from kafka_spec.spec.zookeeper.eras import SPECS

NOT_RUN = (
    "expired-session-reads",
    "goals",
    "log-goals",
    "old-leader-without-successor",
    "isr-holds-committed",
    "reads-before-KIP-207",
    "KAFKA-14140-in-zookeeper",
)
"""Models for which the implementation has no switch: an expired session reads nothing here; the others are goals or stricter."""
KRAFT_ERAS = ("kraft_fixed", *(era.name.replace("era_", "kraft_") for era in KRAFT))
"""The eras of KRaft, as `--era` names them."""


def find_era(name: str) -> Spec:
    """Return the era with this name, with or without `zookeeper/`; those of KRaft begin with `kraft_` or `kraft/`.

    Raises:
        SpecError: the name is unknown, or the implementation has no switch for it.
    """
    if name.startswith(("kraft_", "kraft/")):
        return _find_kraft_era(name)
    if name.startswith("quorum/"):
        return _find_quorum(name)
    eras = {spec.name.removeprefix("zookeeper/"): spec for spec in SPECS}
    short = name.removeprefix("zookeeper/")
    if short in NOT_RUN:
        raise SpecError(f"--era {name}: only the model has this; `kafka-spec check zookeeper/{short}` shows it")
    if short not in eras:
        known = ", ".join([*(one for one in eras if one not in NOT_RUN), *KRAFT_ERAS])
        raise SpecError(f"--era {name}: unknown; known are {known}")
    return eras[short]


def _find_kraft_era(name: str) -> Spec:
    """Return `kraft_4_1`, `kraft_fixed`, or any version of our model of KRaft by its name, such as `kraft/KAFKA-14617`.

    Raises:
        SpecError: the name is unknown, or that of a public model.
    """
    named = {era: f"kraft/{era.replace('kraft_', 'era_')}" for era in KRAFT_ERAS} | {"kraft_fixed": "kraft/fixed"}
    eras = {spec.name: spec for spec in KRAFT_SPECS if spec.state is KRAFT_FIXED.state}
    wanted = named.get(name, name)
    if wanted not in eras:
        raise SpecError(f"--era {name}: unknown; of KRaft known are {', '.join((*KRAFT_ERAS, *eras))}")
    return eras[wanted]


def _find_quorum(name: str) -> Spec:
    """Return a version of our model of the quorum, such as `quorum/KAFKA-10527`; the rest of such a run is `kraft_fixed`.

    Raises:
        SpecError: the name is unknown, or that of a public model.
    """
    known = {spec.name: spec for spec in QUORUM_SPECS if spec.state is QUORUM_FIXED.state}
    if name not in known:
        raise SpecError(f"--era {name}: unknown; of the quorum known are {', '.join(known)}")
    return known[name]


def names_directories(era: Spec) -> bool:
    """Whether the metadata of an era of KRaft names the log directories of replicas: from 3.7 on (KIP-858)."""
    return all(era.name != f"kraft/{one.name}" or release_numbers(one.release) >= (3, 7) for one in KRAFT)


def is_kraft(era: Spec) -> bool:
    """Whether an era is one of KRaft, or of its quorum."""
    return era.state in (KRAFT_FIXED.state, QUORUM_FIXED.state)
