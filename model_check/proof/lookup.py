"""Lookups in constants that are data, as terms: the number at each place, under the condition that it is that place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kafka_spec.model_check.proof.terms import TRUE, Formula, Whole, all_of, any_of, compared, is_false, negation, number
from kafka_spec.spec.language import tree


def looked_up(table: tree.Table, places: Sequence[Whole], when: Formula = TRUE) -> Iterator[tuple[Formula, Whole]]:
    """Yield the numbers that may be at some places, each with its condition; where none of them is true, there is nothing."""
    first, *others = places
    here: list[Formula] = []
    for place, value in table.entries:
        those = (place, place - len(table.entries)) if table.counts_back else (place,)
        at = all_of(when, any_of(*(compared("==", first, number(that)) for that in those)))
        here.append(at)
        if is_false(at):
            continue
        if isinstance(value, tree.Table):
            yield from looked_up(value, others, at)
        else:
            yield at, number(value)
    if table.optional:
        yield all_of(when, negation(any_of(*here))), number(0)
