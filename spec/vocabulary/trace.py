"""Action, Step and Trace: one behaviour of a spec, and its versioned JSON form.

The contract between all readers: the checkers write traces, charts draw them, the implementation replays them, and
nobody parses a sentence to find out what happened. This module knows no engine and no protocol.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from kafka_spec.spec.language.domain import SpecError

FORMAT = "kafka-spec-trace"
VERSION = 1


@dataclass(frozen=True)
class Action:
    """An instance of a rule: its name and the values of its parameters, in order."""

    rule: str
    binding: tuple[tuple[str, int], ...] = ()

    def __str__(self) -> str:
        return f"{self.rule}({', '.join(f'{name}={value}' for name, value in self.binding)})"


@dataclass(frozen=True)
class FieldChange:
    """A field before and after a step: `path` as code spells it, plain values, and the same as a person reads them."""

    path: str
    before: Any
    after: Any
    shown: tuple[str, str]
    kept_by: str = ""


@dataclass(frozen=True)
class MessageItem:
    """A message sent or received: the sequence or queue that holds it, its plain value, and how a person reads it."""

    channel: str
    content: Any
    shown: str


@dataclass(frozen=True)
class Firing:
    """The result of one trigger of a machine: the target state, or None if the table refused it."""

    machine: str
    entity: tuple[int, ...]
    trigger: str
    source: str
    target: str | None


@dataclass(frozen=True)
class Step:
    """One step: who did what, in words, and what it sent, received, wrote to a keeper, fired and changed."""

    action: Action
    actor: str
    kind: str
    summary: str
    reference: str
    sent: tuple[MessageItem, ...]
    received: tuple[MessageItem, ...]
    written: tuple[FieldChange, ...]
    fired: tuple[Firing, ...]
    changed: tuple[FieldChange, ...]
    state: tuple[tuple[str, str], ...]
    """The whole state after the step: (path, value as a person reads it) of every field."""
    fingerprint: str
    shows: tuple[tuple[str, str], ...] = ()
    """(name, value as a person reads it) of the expressions about the state that were asked for."""
    asks: str = ""
    """Whom the actor asks, and who answers within the step; "" if nobody."""


@dataclass(frozen=True)
class Lasso:
    """How a behaviour continues forever: after `met` steps it owes something, and from `back` steps on it repeats a cycle.

    The last state is then that after `back` steps again. Where `back` is the number of all steps, the last state stays as it is.
    """

    met: int
    back: int


@dataclass(frozen=True)
class Trace:
    """A behaviour from an initial state; `shows` names the property it breaks or the goal it reaches.

    One that breaks a leads-to property continues forever, as `lasso` records. One that was found among normal forms, and got
    further steps when it was translated to real states, may not be a `shortest` one.
    """

    spec: str
    bounds: tuple[tuple[str, int], ...]
    shows: str
    start: Step
    steps: tuple[Step, ...]
    lasso: Lasso | None = None
    shortest: bool = True

    def __str__(self) -> str:
        """Return the behaviour as numbered steps, each with the fields that it changes."""
        lines = [f"{self.shows} in {self.spec}: {self.states} states", f"  1. {self.start.summary}"]
        for number, step in enumerate(self.steps, 2):
            lines.append(f"{number:>3}. {step.summary}")
            lines += [f"       {change.path}: {change.shown[0]} -> {change.shown[1]}" for change in step.changed]
        return "\n".join(lines)

    @property
    def cycle(self) -> int:
        """The number of steps in the cycle, 0 where there is none."""
        return len(self.steps) - self.lasso.back if self.lasso is not None else 0

    @property
    def states(self) -> int:
        """The number of states, the initial one included, that in which a cycle closes counted once."""
        return len(self.steps) + (self.cycle == 0)

    @property
    def actions(self) -> tuple[Action, ...]:
        """The actions after the initial state."""
        return tuple(step.action for step in self.steps)

    def to_json(self) -> str:
        """Return the trace as JSON text."""
        return json.dumps(self.to_plain(), indent=1)

    def to_plain(self) -> dict[str, Any]:
        """Return the trace as plain objects and lists."""
        plain = {"format": FORMAT, "version": VERSION, **dataclasses.asdict(self)}
        if self.lasso is None:
            del plain["lasso"]
        for step in (plain["start"], *plain["steps"]):
            for optional in ("shows", "asks"):
                if not step[optional]:
                    del step[optional]
        if self.shortest:
            del plain["shortest"]
        return plain


def from_json(text: str) -> Trace:
    """Read a trace back.

    Raises:
        SpecError: the text is not a trace, or one of another version.
    """
    try:
        plain = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise SpecError(f"this is not JSON: {error}; give the file that `--format json` or Trace.to_json wrote") from None
    return from_plain(plain)


def from_plain(plain: Any) -> Trace:
    """Read a trace back from plain objects and lists; see `from_json`."""
    if not isinstance(plain, dict) or plain.get("format") != FORMAT:
        raise SpecError(f"this is not a trace: its format is not {FORMAT!r}")
    if plain.get("version") != VERSION:
        raise SpecError(f"this trace has version {plain.get('version')}, and only version {VERSION} can be read")
    try:
        trace = Trace(
            spec=plain["spec"],
            bounds=tuple((name, value) for name, value in plain["bounds"]),
            shows=plain["shows"],
            start=_step(plain["start"]),
            steps=tuple(_step(step) for step in plain["steps"]),
            lasso=Lasso(**plain["lasso"]) if plain.get("lasso") else None,
            shortest=plain.get("shortest", True),
        )
        _check_types(trace, Trace, "it")
        return trace
    except (LookupError, TypeError, ValueError) as error:
        raise SpecError(f"this trace is damaged: {error!r}") from None


def _check_types(value: Any, kind: Any, where: str) -> None:
    """Raise TypeError unless a value, with all that is in it, is what the annotation of its field says."""
    origin, parts = get_origin(kind), get_args(kind)
    if isinstance(kind, type) and dataclasses.is_dataclass(kind) and type(value) is kind:
        for name, of in get_type_hints(kind).items():
            _check_types(getattr(value, name), of, name)
    elif origin is tuple and isinstance(value, tuple):
        of_items = [parts[0]] * len(value) if parts[1:] == (...,) else parts
        for item, of in zip(value, of_items, strict=True):
            _check_types(item, of, where)
    elif origin in (Union, UnionType):
        of = next((part for part in parts if part is not type(None)), kind)
        if value is not None:
            _check_types(value, of, where)
    elif kind is not Any and type(value) is not kind:
        raise TypeError(f"{where} is {value!r:.40}")


def _step(plain: dict[str, Any]) -> Step:
    action = Action(plain["action"]["rule"], tuple((name, value) for name, value in plain["action"]["binding"]))
    return Step(
        action=action,
        **{name: plain[name] for name in ("actor", "kind", "summary", "reference", "fingerprint")},
        sent=tuple(MessageItem(**item) for item in plain["sent"]),
        received=tuple(MessageItem(**item) for item in plain["received"]),
        written=tuple(_change(change) for change in plain["written"]),
        fired=tuple(Firing(**{**firing, "entity": tuple(firing["entity"])}) for firing in plain["fired"]),
        changed=tuple(_change(change) for change in plain["changed"]),
        state=tuple((path, shown) for path, shown in plain["state"]),
        shows=tuple((name, value) for name, value in plain.get("shows", ())),
        asks=str(plain.get("asks", "")),
    )


def _change(plain: dict[str, Any]) -> FieldChange:
    return FieldChange(**{**plain, "shown": (plain["shown"][0], plain["shown"][1])})
