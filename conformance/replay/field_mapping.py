"""How a field of the model and a place in the implementation are said to be the same: once, for both ways."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from kafka_spec.spec.domain import BrokerSet

Record = TypeVar("Record")


@dataclass(frozen=True)
class FieldMapping:
    """A field of the model, and how it is read from an actor of the implementation and put there.

    `put` is given the actor and the whole record, since some fields stand in one place.
    """

    field: str
    read: Callable[[Any], Any]
    put: Callable[[Any, Any], object]


def attribute(field: str, name: str = "") -> FieldMapping:
    """Say that a field is an attribute of the actor."""
    name = name or field

    def put(actor: Any, record: Any) -> None:
        setattr(actor, name, getattr(record, field))

    return FieldMapping(field, lambda actor: getattr(actor, name), put)


def brokers(field: str, name: str, kind: Callable[[Iterable[int]], Any]) -> FieldMapping:
    """Say that a field is an attribute that holds brokers in this kind of collection, where the model has a bit mask."""

    def put(actor: Any, record: Any) -> None:
        setattr(actor, name, kind(BrokerSet(getattr(record, field))))

    return FieldMapping(field, lambda actor: BrokerSet.of(getattr(actor, name)), put)


class RecordMapping:
    """A record of the model, field by field, each of which is said once; none may be missing."""

    def __init__(self, record: Callable[..., Any], *fields: FieldMapping) -> None:
        names = [field.name for field in dataclasses.fields(record)]  # type: ignore[arg-type]
        if [same.field for same in fields] != names:
            raise TypeError(f"{record} has the fields {', '.join(names)}; say of each what it is, in this order")
        self.record = record
        self.fields = fields
        self._reads = [same.read for same in fields]

    def read(self, actor: Any) -> Any:
        """Return the record as the actor has it."""
        return self.record(*[read(actor) for read in self._reads])

    def put(self, actor: Any, record: Any) -> None:
        """Put the record on the actor."""
        for same in self.fields:
            same.put(actor, record)
