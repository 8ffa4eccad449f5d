"""Tables as JSON text, for components that cannot import them; and back.

`table_text` writes a machine (names, docs, sources, era), `load_table` reads it. Neither touches a file, and nothing of a text is
ever executed: guards and effects are names until somebody binds functions to them. The form is version 1 of table.schema.json; a
text that is not of that form is refused with the place and the cure.
"""

from __future__ import annotations

import ast
import enum
import inspect
import json
import re
import reprlib
import textwrap
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kafka_spec.spec.language import Function
from kafka_spec.spec.vocabulary.table import Machine, Name, Row, SpecError

FORMAT = "kafka-spec-table"
VERSION = 1
LONGEST, MOST_STATES, MOST_ROWS = 1_000_000, 40, 200
"""Limits of the input: characters of a text, states and rows of a table."""

TABLE = ("format", "version", "name", "era", "reference", "entity", "states", "initial", "guards", "effects", "rows", "legal_pairs")
STATES = ("name", "summary", "members")
MEMBER = ("name", "value", "summary")
NAMED = ("name", "summary")
ROW = ("trigger", "sources", "target", "guards", "unless", "effects", "reference", "kind", "waits_for")
KINDS = ("transition", "initialisation")
IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,99}")
STATE = re.compile(r"[A-Z][A-Z0-9_]{0,98}[A-Z0-9]|[A-Z]")


class Unbound(str):
    """The name of a guard or an effect that has no function yet; `says` is the description of its function."""

    __slots__ = ("summary",)
    summary: str


# ---------------------------------------------------------------------------------------------------------------------
# Writing


def table_text(machine: Machine) -> str:
    """Return a machine as JSON text.

    Raises:
        SpecError: the machine has a name that the form does not allow.
    """
    text = json.dumps(table_plain(machine), indent=1, ensure_ascii=False) + "\n"
    load_table(text)
    return text


def table_plain(machine: Machine) -> dict[str, Any]:
    """Return a machine as plain objects and lists; two machines are the same table if these are equal."""
    summary = member_docs(machine.states)
    return {
        "format": FORMAT,
        "version": VERSION,
        "name": machine.name,
        "era": machine.era,
        "reference": machine.reference,
        "entity": list(machine.entity),
        "states": {
            "name": machine.states.__name__,
            "summary": inspect.cleandoc(machine.states.__doc__ or ""),
            "members": [{"name": s.name, "value": int(s), "summary": summary.get(s.name, "")} for s in machine.states],
        },
        "initial": machine.initial.name,
        "guards": _named(function for row in machine.rows for function in row.looks),
        "effects": _named(function for row in machine.rows for function in row.effects),
        "rows": [
            {
                "trigger": row.trigger,
                "sources": [source.name for source in row.sources],
                "target": row.target.name,
                "guards": [_name(guard) for guard in row.guards],
                "unless": [_name(guard) for guard in row.unless],
                "effects": [_name(effect) for effect in row.effects],
                "reference": row.reference,
                "kind": row.kind,
                "waits_for": row.waits_for,
            }
            for row in machine.rows
        ],
        "legal_pairs": [[source.name, target.name] for source, target in machine.legal_pairs],
    }


def member_docs(states: type[enum.IntEnum]) -> dict[str, str]:
    """Return the description of each state: its own docstring, or the string below it in the source of the class."""
    try:
        body = ast.parse(textwrap.dedent(inspect.getsource(states))).body[0]
    except (OSError, TypeError, SyntaxError):
        body = None
    docs: dict[str, str] = {}
    for statement, below in zip(body.body, body.body[1:], strict=False) if isinstance(body, ast.ClassDef) else ():
        text = below.value.value if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant) else None
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name) and isinstance(text, str):
            docs[statement.targets[0].id] = inspect.cleandoc(text)
    return docs | {state.name: state.__dict__["__doc__"] for state in states if state.__dict__.get("__doc__")}


def _name(function: Function | Name) -> str:
    return str(function) if isinstance(function, str) else function.__name__


def _summary(function: Function | Name) -> str:
    if isinstance(function, str):
        return function.summary if isinstance(function, Unbound) else ""
    return inspect.cleandoc(function.__doc__ or "")


def _named(functions: Iterable[Function | Name]) -> list[dict[str, str]]:
    summary: dict[str, str] = {}
    for function in functions:
        summary[_name(function)] = summary.get(_name(function)) or _summary(function)
    return [{"name": name, "summary": text} for name, text in summary.items()]


# ---------------------------------------------------------------------------------------------------------------------
# Reading


def load_table(text: str, bind: Mapping[Name, Function] | None = None) -> Machine:
    """Return the machine that a JSON text states; names of guards and effects get the functions that `bind` has for them.

    Raises:
        SpecError: the text is not a table of version 1, or `bind` names what the table has not.
    """
    table = _table(_parsed(text))
    known = {_name(function) for row in table.rows for function in (*row.looks, *row.effects)}
    if wrong := [name for name in bind or {} if name not in known]:
        raise SpecError(
            f"bind: machine {table.name} has no guard or effect {wrong[0]!r}; it has {', '.join(sorted(known)) or 'none'}"
        )
    return table.bind(bind or {})


def _parsed(text: str) -> Any:
    if not isinstance(text, str):
        raise SpecError(f"a table is a string, and this is {type(text).__name__}; read the file first")
    if len(text) > LONGEST:
        raise SpecError(f"the text has {len(text):,} letters, and {LONGEST:,} is the most; this is not a table")
    try:
        return json.loads(text, object_pairs_hook=_object, parse_constant=_no_number)
    except RecursionError:
        raise SpecError("the text is nested too deeply; a table has five levels") from None
    except json.JSONDecodeError as error:
        raise SpecError(f"line {error.lineno}, column {error.colno}: {error.msg}; use what `kafka-spec export` wrote") from None
    except ValueError as error:
        raise SpecError(f"the text has a number that cannot be read ({error}); use what `kafka-spec export` wrote") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise SpecError(f"{_shown(name)} appears twice in one object; keep one")
        found[name] = value
    return found


def _no_number(text: str) -> Any:
    raise SpecError(f"{text} is not a JSON number; write an integer")


def _table(plain: Any) -> Machine:
    if not isinstance(plain, dict) or plain.get("format") != FORMAT:
        raise SpecError(f'this is not a table: "format" is not "{FORMAT}"; use what `kafka-spec export` wrote')
    version = plain.get("version")
    if version != VERSION or not isinstance(version, int) or isinstance(version, bool):
        raise SpecError(f"version: {_shown(version)} is not {VERSION}, the only version that can be read; export the table again")
    _keys(plain, TABLE, "the table")
    states = _states(plain["states"])
    summary = {kind: _docs(plain[kind], kind) for kind in ("guards", "effects")}
    rows = _list(plain["rows"], "rows", MOST_ROWS)
    machine = Machine(
        name=_matched(plain["name"], IDENTIFIER, "name"),
        states=states,
        initial=_state(plain["initial"], states, "initial"),
        rows=tuple(_row(row, states, summary, f"rows[{number}]") for number, row in enumerate(rows)),
        entity=tuple(_names(plain["entity"], "entity")),
        reference=_text(plain["reference"], "reference"),
        era=_text(plain["era"], "era"),
    )
    used = {"guards": {g for row in machine.rows for g in row.looks}, "effects": {e for row in machine.rows for e in row.effects}}
    for kind, names in used.items():
        if idle := [name for name in summary[kind] if name not in names]:
            raise SpecError(f"{kind}: {idle[0]!r} is in no row; remove it, or name it in a row")
    stated = [[source.name, target.name] for source, target in machine.legal_pairs]
    if plain["legal_pairs"] != stated:
        raise SpecError(
            "legal_pairs: they are not the pairs of the rows of kind transition, in their order; export the table again"
        )
    return machine


def _states(plain: Any) -> type[enum.IntEnum]:
    _keys(plain, STATES, "states")
    name = _matched(plain["name"], IDENTIFIER, "states.name")
    summary: dict[str, str] = {}
    values: dict[str, int] = {}
    for number, member in enumerate(_list(plain["members"], "states.members", MOST_STATES)):
        where = f"states.members[{number}]"
        _keys(member, MEMBER, where)
        state = _matched(member["name"], STATE, f"{where}.name")
        value = member["value"]
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= 255:
            raise SpecError(f"{where}.value: {_shown(value)} is not an integer in 0..255")
        if state in values or value in values.values():
            raise SpecError(f"{where}: state {state}, or its value {value}, appears twice; give each its own")
        values[state], summary[state] = value, _text(member["summary"], f"{where}.summary")
    if not values:
        raise SpecError("states.members: it is empty; a machine has at least one state")
    states = enum.IntEnum(name, list(values.items()), module=__name__)  # type: ignore[misc]
    states.__doc__ = _text(plain["summary"], "states.summary")
    for member in states:
        member.__doc__ = summary[member.name]
    return states


def _docs(plain: Any, where: str) -> dict[str, str]:
    docs: dict[str, str] = {}
    for number, named in enumerate(_list(plain, where, MOST_ROWS * 10)):
        _keys(named, NAMED, f"{where}[{number}]")
        name = _matched(named["name"], IDENTIFIER, f"{where}[{number}].name")
        if name in docs:
            raise SpecError(f"{where}[{number}].name: {name!r} appears twice; keep one")
        docs[name] = _text(named["summary"], f"{where}[{number}].summary")
    return docs


def _row(plain: Any, states: type[enum.IntEnum], summary: Mapping[str, Mapping[str, str]], where: str) -> Row:
    _keys(plain, ROW, where)

    def names(key: str, kind: str) -> tuple[Unbound, ...]:
        found = []
        for name in _names(plain[key], f"{where}.{key}"):
            if name not in summary[kind]:
                raise SpecError(f'{where}.{key}: {name!r} is not listed; add {{"name": "{name}", "summary": ""}} to {kind}')
            unbound = Unbound(name)
            unbound.summary = summary[kind][name]
            found.append(unbound)
        return tuple(found)

    if plain["kind"] not in KINDS:
        raise SpecError(f"{where}.kind: {_shown(plain['kind'])} is unknown; write {' or '.join(KINDS)}")
    sources = [_state(name, states, f"{where}.sources") for name in _list(plain["sources"], f"{where}.sources", MOST_STATES)]
    if len(set(sources)) < len(sources):
        raise SpecError(f"{where}.sources: a state appears twice; keep one")
    return Row(
        trigger=_matched(plain["trigger"], IDENTIFIER, f"{where}.trigger"),
        sources=tuple(sources),
        target=_state(plain["target"], states, f"{where}.target"),
        guards=names("guards", "guards"),
        unless=names("unless", "guards"),
        effects=names("effects", "effects"),
        reference=_text(plain["reference"], f"{where}.reference"),
        kind=plain["kind"],
        waits_for=_text(plain["waits_for"], f"{where}.waits_for"),
    )


# what a place of the text may hold


def _keys(plain: Any, keys: tuple[str, ...], where: str) -> None:
    if not isinstance(plain, dict):
        raise SpecError(f"{where}: {_shown(plain)} is not an object; write {{{', '.join(keys)}}}")
    if missing := [key for key in keys if key not in plain]:
        raise SpecError(f"{where}: {missing[0]} is missing; add it")
    if unknown := [key for key in plain if key not in keys]:
        raise SpecError(f"{where}: {_shown(unknown[0])} is unknown; there is {', '.join(keys)}")


def _list(plain: Any, where: str, most: int) -> list[Any]:
    if not isinstance(plain, list):
        raise SpecError(f"{where}: {_shown(plain)} is not a list; write [...]")
    if len(plain) > most:
        raise SpecError(f"{where}: it has {len(plain):,} entries, and {most:,} is the most")
    return plain


def _text(plain: Any, where: str) -> str:
    if not isinstance(plain, str):
        raise SpecError(f"{where}: {_shown(plain)} is not a string; write it in quotes")
    if any("\ud800" <= letter <= "\udfff" for letter in plain):
        raise SpecError(f"{where}: {_shown(plain)} contains an unpaired surrogate; write it in UTF-8")
    return plain


def _matched(plain: Any, pattern: re.Pattern[str], where: str) -> str:
    text = _text(plain, where)
    if not pattern.fullmatch(text):
        capital = "capital letters" if pattern is STATE else "letters"
        raise SpecError(
            f"{where}: {_shown(text)} is not a valid name; a name has up to 100 {capital}, digits and _, and begins with a letter"
        )
    return text


def _names(plain: Any, where: str) -> list[str]:
    names = [_matched(name, IDENTIFIER, f"{where}[{number}]") for number, name in enumerate(_list(plain, where, MOST_STATES))]
    if len(set(names)) < len(names):
        raise SpecError(f"{where}: a name appears twice; keep one")
    return names


def _state(plain: Any, states: type[enum.IntEnum], where: str) -> enum.IntEnum:
    known: Callable[[str], enum.IntEnum | None] = states.__members__.get
    state = known(plain) if isinstance(plain, str) else None
    if state is None:
        raise SpecError(f"{where}: {_shown(plain)} is not a state; there is {', '.join(states.__members__)}")
    return state


def _shown(value: Any) -> str:
    return reprlib.repr(value)
