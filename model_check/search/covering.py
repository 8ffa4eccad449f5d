"""A search to the end that counts for coverage: what the code runs, and how full each container becomes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from kafka_spec.model_check.budget import Budget
from kafka_spec.model_check.exploration import Exploration, Progress, quiet
from kafka_spec.model_check.record.layout import Packed
from kafka_spec.model_check.room import search_with_room
from kafka_spec.model_check.search import embedded
from kafka_spec.model_check.search.level_judge import PIECE_BYTES
from kafka_spec.spec.language.domain import Array
from kafka_spec.spec.vocabulary.table import Spec


def covered(spec: Spec, bounds: Mapping[str, int], budget: Budget | None = None, progress: Progress = quiet) -> Exploration:
    """Search a spec to the end, violations or not, on one thread; the result has tallies, which `coverage_of` reads."""

    def search(bounds: Mapping[str, int]) -> Exploration:
        fullest = Fullest()
        options: dict[str, Any] = {"everything": True, "budget": budget, "progress": progress, "covering": True}
        result = embedded.explore(spec, bounds, **options, on_level=fullest.look)
        result.tallies |= {("fullest", path): most for path, most in fullest.most.items()}
        return result

    return search_with_room(search, bounds, (budget or Budget()).exhausted)


class Fullest:
    """The most items that each sequence, set, bag and queue of the states of a search holds, by its path."""

    def __init__(self) -> None:
        self.most: dict[str, int] = {}

    def look(self, search: embedded.Search) -> None:
        """Measure the states of a level."""
        piece = max(1, PIECE_BYTES // search.layout.size)
        for begin in range(0, search.width, piece):
            states, _ = search.frontier.read(begin, min(search.width, begin + piece))
            records = np.ascontiguousarray(states).view(search.layout.dtype).reshape(-1)
            self.measure(search.layout.root, records, "")

    def measure(self, place: Packed, values: npt.NDArray[Any], path: str) -> None:
        """Measure the values of a part of the state. Room for items that are not there is zero."""
        if place.fields is not None:
            for name, (_, field) in place.fields.items():
                self.measure(field, values[name], f"{path}.{name}".removeprefix("."))
        elif place.head is not None and place.item is not None:
            self.most[path] = max(self.most.get(path, 0), int(values["length"].max(initial=0)))
            self.measure(place.item, values["items"], f"{path}[]")
        elif isinstance(place.type, Array) and place.item is not None:
            self.measure(place.item, values, f"{path}[]")
