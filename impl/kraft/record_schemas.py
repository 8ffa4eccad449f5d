"""The records of the metadata log as Kafka's schemas define them: every kind, every version since 3.3.

The schemas are data (records.schema.json). Each kind becomes a tuple with named fields, its *record*; `record_decoders.py` compiles
readers and writers of its bytes.

Source: Kafka 4.4 kafka-metadata common/metadata/*.json, kafka-clients common/message/*.json; KIP-482, KIP-631.
"""

from __future__ import annotations

import json
import re
from collections import namedtuple
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

NEVER = 1 << 15
"""A version that is never reached."""


@dataclass(frozen=True)
class SchemaField:
    """A field: the first version that has it, and the first one that writes it with its tag, if the value is not the usual one."""

    name: str
    kafka_name: str
    type: str
    since: int
    tagged_since: int
    tag: int
    usual: Any
    fields: tuple[SchemaField, ...]

    @property
    def item(self) -> str:
        """The type of its items, if it is an array."""
        return self.type.removeprefix("[]")

    @property
    def is_array(self) -> bool:
        """Whether it is an array."""
        return self.type.startswith("[]")

    @property
    def json_name(self) -> str:
        """Its name in Kafka's JSON."""
        return self.kafka_name[0].lower() + self.kafka_name[1:]


@dataclass(frozen=True)
class Schema:
    """A kind of record: its name in Kafka, its key, its newest version and its fields."""

    name: str
    key: int
    newest: int
    fields: tuple[SchemaField, ...]

    @cached_property
    def record(self) -> Any:
        """The tuple of a record: `schema_version`, each field by its name, and what was read of tags that no schema has."""
        return _tuple_type(self.name, self.fields)

    @cached_property
    def title(self) -> str:
        """The name without the word Record."""
        return self.name.removesuffix("Record")

    def plain(self, **values: Any) -> Any:
        """Return a record in the newest version; a field that is not given has its usual value."""
        usual = {field.name: field.usual for field in self.fields}
        return self.record(**{"schema_version": self.newest, "unknown_tags": (), **usual, **values})


def _tuple_type(name: str, fields: Sequence[SchemaField]) -> Any:
    names = [field.name for field in fields]
    made = namedtuple(name, ["schema_version", *names, "unknown_tags"])  # type: ignore[misc]  # the names are data
    made.__doc__ = f"{name}, in the version `schema_version`; `unknown_tags` are fields that no schema here has."
    return made


def snake(name: str) -> str:
    """Return a name of Kafka's schemas as a name of Python."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def _first(versions: str | None) -> int:
    return NEVER if versions is None else int(versions.removesuffix("+"))


def _usual(field: Mapping[str, Any]) -> Any:
    given, type_ = field.get("default"), field["type"]
    if given == "null":
        return None
    if type_.startswith("[]"):
        return ()
    if type_ == "bool":
        return given == "true"
    if type_.startswith(("int", "uint")):
        return int(given or 0)
    return {"string": "", "bytes": b"", "float64": 0.0, "uuid": bytes(16)}.get(type_)


def _fields(declared: Sequence[Mapping[str, Any]]) -> tuple[SchemaField, ...]:
    return tuple(
        SchemaField(
            snake(field["name"]),
            field["name"],
            field["type"],
            _first(field["versions"]),
            _first(field.get("taggedVersions")),
            int(field.get("tag", -1)),
            _usual(field),
            _fields(field.get("fields", ())),
        )
        for field in declared
    )


def _schemas(declared: Mapping[str, Mapping[str, Any]]) -> dict[int, Schema]:
    return {
        one["key"]: Schema(name, one["key"], int(one["validVersions"].split("-")[-1]), _fields(one["fields"]))
        for name, one in declared.items()
    }


_DECLARED = json.loads((Path(__file__).parent / "records.schema.json").read_text(encoding="utf-8"))
SCHEMAS: Mapping[int, Schema] = _schemas(_DECLARED["records"])
"""The kinds of records by their keys."""
CONTROL: Mapping[int, Schema] = _schemas(_DECLARED["control"])
"""The contents of control records by their types: leader changes, headers and footers of snapshots, the quorum's voters."""
BY_NAME: Mapping[str, Schema] = {schema.name: schema for schema in SCHEMAS.values()}
