"""Maps fields of the model's records to the implementation; each mapping serves reading and writing."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from kafka_spec.spec.language.domain import BrokerSet

Record = TypeVar("Record")


@dataclass(frozen=True)
class FieldMapping:
    """A field of the model, with the functions that read it from an actor of the implementation and write it there.

    `put` takes the actor and the whole record, since one place may hold several fields.
    """

    field: str
    read: Callable[[Any], Any]
    put: Callable[[Any, Any], object]


def attribute(field: str, name: str = "") -> FieldMapping:
    """Map a field to an attribute of the actor."""
    name = name or field

    def put(actor: Any, record: Any) -> None:
        setattr(actor, name, getattr(record, field))

    return FieldMapping(field, lambda actor: getattr(actor, name), put)


def brokers(field: str, name: str, kind: Callable[[Iterable[int]], Any]) -> FieldMapping:
    """Map a set of brokers to an attribute that holds them in this kind of collection."""

    def put(actor: Any, record: Any) -> None:
        setattr(actor, name, kind(BrokerSet(getattr(record, field))))

    return FieldMapping(field, lambda actor: BrokerSet.of(getattr(actor, name)), put)


class RecordMapping:
    """The mappings of all fields of a record, each defined once, in the record's order."""

    def __init__(self, record: Callable[..., Any], *fields: FieldMapping) -> None:
        names = [field.name for field in dataclasses.fields(record)]  # type: ignore[arg-type]
        if [same.field for same in fields] != names:
            raise TypeError(f"{record} has the fields {', '.join(names)}; map each of them, in this order")
        self.record = record
        self.fields = fields
        self._reads = [same.read for same in fields]

    def read(self, actor: Any) -> Any:
        """Read the record from the actor."""
        return self.record(*[read(actor) for read in self._reads])

    def put(self, actor: Any, record: Any) -> None:
        """Write the record to the actor."""
        for same in self.fields:
            same.put(actor, record)
