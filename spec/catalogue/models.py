"""The catalogue: every model by its name. A model is imported when it is asked for, and all of them when they are listed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from itertools import chain

from kafka_spec.spec.vocabulary.table import Spec

VERSIONS = (
    "high_watermark",
    "kip_101",
    "kip_279",
    "kip_320_first_try",
    "kip_320",
    "kafka_7164",
    "kafka_7128",
    "kafka_7395",
)
"""The versions of replication in historical order, and the bugs of kip_320; each is a module."""


def _version(name: str) -> Sequence[Spec]:
    return (import_module(f"kafka_spec.spec.replication.versions.{name}").SPEC,)


def _zookeeper() -> Sequence[Spec]:
    from kafka_spec.spec.zookeeper.eras import SPECS

    return SPECS


def _kraft() -> Sequence[Spec]:
    from kafka_spec.spec.kraft.eras import SPECS

    return SPECS


def _quorum() -> Sequence[Spec]:
    from kafka_spec.spec.quorum.eras import SPECS

    return SPECS


class Catalogue(Mapping[str, Spec]):
    """Specs by name, in parts that are imported on first use.

    The key of a part is the name of its only spec, or the folder of all its names: `zookeeper` has `zookeeper/fixed`.
    """

    def __init__(self, parts: Mapping[str, Callable[[], Sequence[Spec]]]) -> None:
        self._parts = parts
        self._specs: dict[str, dict[str, Spec]] = {}

    def _part(self, key: str) -> Mapping[str, Spec]:
        if key not in self._specs:
            self._specs[key] = {spec.name: spec for spec in self._parts[key]()}
        return self._specs[key]

    def __getitem__(self, name: str) -> Spec:
        if name.startswith("control/"):  # the name of the ZooKeeper world up to 0.1, for one release
            name = "zookeeper/" + name.removeprefix("control/")
        for key in (name, name.partition("/")[0]):
            if key in self._parts:
                return self._part(key)[name]
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return chain.from_iterable(map(self._part, self._parts))

    def __len__(self) -> int:
        return sum(len(self._part(key)) for key in self._parts)


MODELS: Mapping[str, Spec] = Catalogue(
    {
        **{f"replication/{name}": partial(_version, name) for name in VERSIONS},
        "zookeeper": _zookeeper,
        "kraft": _kraft,
        "quorum": _quorum,
    }
)
"""The versions of replication; then control plane, KRaft and its quorum: fixed, eras, bugs."""
