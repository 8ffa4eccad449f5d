"""Turns findings into traces: the oracle replays every counterexample before it is shown.

Does not depend on any engine. What a step sent, received and wrote is derived from the states before and after it. An item that
appeared in a sequence was sent. An item that the rule names by `ItemOf`, `ElementOf` or `receives` was received. A changed
field that has a holder was written.
"""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from kafka_spec.model_check.exploration import EngineError, Exploration, Finding
from kafka_spec.model_check.interpreter.expression import Expression, expression, shown_answer
from kafka_spec.model_check.interpreter.interpreter import Interpreter
from kafka_spec.model_check.record.layout import Layout
from kafka_spec.model_check.traces.concretize_path import in_real_states
from kafka_spec.spec.language.domain import (
    Change,
    Collection,
    OutOfDomain,
    Path,
    Record,
    Sequence,
    items_of,
    path_of,
    plain_value,
    show_change,
    show_path,
    show_value,
    type_at,
    value_at,
)
from kafka_spec.spec.vocabulary.table import DEADLOCK, TYPE_INVARIANT, ElementOf, ItemOf, Rule, numbers_type
from kafka_spec.spec.vocabulary.trace import Action, FieldChange, Firing, Lasso, MessageItem, Step, Trace

Binding = tuple[int, ...]
REPLAYED_WAYS = 2_000
"""The most states that the oracle searches to confirm that protocol steps from a state cannot reach one that meets a property."""


def trace_of(result: Exploration, claim: str, shows: Iterable[str] = ()) -> Trace | None:
    """Return the trace of an instance, or of the first violated instance of a property; None if none was found, or it was not kept.

    `shows` are expressions about a state (`name = expression`), whose values each step then has.

    Raises:
        EngineError: the oracle cannot replay the finding, or disagrees with the engine about its end.
    """
    name = result.shown_by(claim)
    if name is None or (finding := result.findings[name]).start < 0:
        return None
    return Replay(Interpreter(result.spec, result.bounds), result, shows).trace(name, finding)


class Replay:
    """Replays findings of an exploration in plain Python."""

    def __init__(self, world: Interpreter, result: Exploration, shows: Iterable[str] = ()) -> None:
        self.world, self.result = world, result
        self.teller = Teller(world, shows)

    def trace(self, claim: str, finding: Finding) -> Trace:
        """Return the trace of a finding; check each step, and check the property at its end."""
        real = finding
        if self.world.spec.reduced:
            stated = next((p for p in self.result.properties if p.name == claim), None)
            real = in_real_states(self.world, claim, stated, finding)
        trace, before, state = self.way(claim, real)
        trace = dataclasses.replace(trace, shortest=finding.shortest and len(real.actions) == len(finding.actions))
        if finding.back >= 0:
            self.confirm_lasso(claim, finding)
            return dataclasses.replace(trace, lasso=Lasso(real.met, real.back))
        self.confirm(claim, before, state)
        return trace

    def way(self, claim: str, finding: Finding) -> tuple[Trace, Any, Any]:
        """Return the trace of a path and its last two states; check each step."""
        beginnings = self.world.beginnings()
        if finding.start >= len(beginnings):
            raise EngineError(f"{claim}: the engine starts from initial state {finding.start} of {len(beginnings)}")
        before, (chosen, state) = None, beginnings[finding.start]
        start = self.teller.step(None, chosen, None, state)
        steps: list[Step] = []
        for number in finding.actions:
            rule, binding = self.world.actions.decode(number)
            before = state
            last = len(steps) == len(finding.actions) - 1
            state, note = self.follow(claim, rule, binding, before, last)
            step = self.teller.step(rule, binding, before, state)
            steps.append(dataclasses.replace(step, summary=step.summary + note))
        return Trace(self.world.spec.name, tuple(self.world.bounds.items()), claim, start, tuple(steps)), before, state

    def follow(self, claim: str, rule: Rule, binding: Binding, before: Any, last: bool) -> tuple[Any, str]:
        """Return the state after a step and a note about it, or ""; raise EngineError unless the oracle allows the step."""
        what = f"{claim}: {rule.name}{binding}"
        if not self.world.allows(rule, before, binding):
            raise EngineError(f"{what} does not replay: the oracle says that its guards do not hold; an engine is wrong")
        try:
            after = self.world.apply(rule, before, binding, beyond=last)
        except OutOfDomain as error:
            if claim != TYPE_INVARIANT or not last:
                raise EngineError(f"{what} does not replay: {error}; an engine is wrong") from error
            return before, f" -- {error}"
        if claim == TYPE_INVARIANT and last:
            raise EngineError(f"{what} stays in its domains, says the oracle; an engine is wrong")
        return after, ""

    def confirm(self, claim: str, before: Any, state: Any) -> None:
        """Raise EngineError unless the oracle agrees about the last state or step."""
        if claim == TYPE_INVARIANT:
            return
        if claim == DEADLOCK:
            agreed = self.world.is_stuck(state)
        else:
            stated = next(p for p in self.result.properties if p.name == claim)
            if stated.kind == "step invariant":
                agreed = not self.world.judge_step(stated, before, state)
            elif stated.kind == "recoverable":
                agreed = self.world.tests(stated, s=state) and not self.world.recovers(stated, state, REPLAYED_WAYS)
            else:
                agreed = self.world.judge(stated, state) == (stated.kind == "reachable")
        if not agreed:
            raise EngineError(f"{claim}: the trace replays, but the oracle judges its end otherwise; an engine is wrong")

    def confirm_lasso(self, claim: str, finding: Finding) -> None:
        """Raise EngineError unless a path leads into a fair cycle and, from some state on, no state meets the predicate."""
        world, back = self.world, finding.back
        stated = next(p for p in self.result.properties if p.name == claim)
        states = [world.formed(world.initial()[finding.start])]
        for number in finding.actions:
            rule, binding = world.actions.decode(number)
            states.append(world.formed(world.apply(rule, states[-1], binding)))
        keys = [world.key(state) for state in states]
        wrong = ""
        unmet = states[back : back + 1] if stated.kind == "eventually always" else states[finding.met :]
        begins = stated.kind != "eventually" or finding.met == 0
        if not begins or not world.tests(stated, s=states[finding.met]) or any(world.meets(stated, state) for state in unmet):
            wrong = "judges its states otherwise"
        if keys[-1] != keys[back] or any(one == other for one, other in zip(keys[back:], keys[back + 1 :], strict=False)):
            wrong = "sees no cycle"
        moves = [world.moves(state) for state in states[back : -1 if back < len(finding.actions) else None]]
        taken = set(finding.actions[back:])
        if not taken <= set().union(*(changing for changing, _ in moves)) or any(cut for _, cut in moves):
            wrong = "says that the protocol cannot continue so"
        groups, kinds = world.actions.fairness
        enabled = [{groups[action] for action in changing} for changing, _ in moves]
        for group in set().union(*enabled) - {groups[action] for action in taken}:
            if kinds[group] == "strong" or (kinds[group] == "weak" and all(group in those for those in enabled)):
                rule, binding = world.actions.decode(group)
                each = "each" in world.spec.fairness_of(rule)
                wrong = f"says that the cycle is not fair to {rule.name}{binding if each else ''}"
        if wrong:
            raise EngineError(f"{claim}: the trace replays, but the oracle {wrong}; an engine is wrong")


class Teller:
    """Tells steps of a spec: who did what, and what it sent, received, wrote, fired and changed."""

    def __init__(self, world: Interpreter, shows: Iterable[str] = ()) -> None:
        self.world, self.layout = world, Layout(world.space)
        self.shows = [expression(text) for text in shows]
        read = [one for rule in world.spec.rules for one in rule.params.values() if isinstance(one, ItemOf | ElementOf)]
        paths = [one.field if isinstance(one, ItemOf) else one.path for one in read if one.receives]
        self.channels = {_root(path) for path in (*paths, *(rule.receives for rule in world.spec.rules)) if path}
        """The fields of the state from which rules receive messages."""

    def step(self, rule: Rule | None, binding: Binding, before: Any, after: Any) -> Step:
        """Return one step of a trace, with its messages and its changes; `before` is None for an initial state."""
        reported = rule or self.world.spec.start
        changes = self.world.space.changes(before, after) if before is not None else []
        begun = self.world.space.changes(self.world.space.fresh(), after) if before is None else changes
        shown = self.shown(reported, binding, before)
        received = tuple(self.received(reported, binding, before))
        sent = [message for change in changes for message in self.sent(change)]
        kept = self.only_kept(sent, received)
        return Step(
            action=Action(reported.name, tuple(zip(reported.params, binding, strict=False))),
            actor=reported.actor.format_map(shown),
            kind=reported.kind,
            summary=reported.summary.format_map(shown),
            reference=reported.reference,
            sent=tuple(message for message in sent if message.channel not in kept),
            received=received,
            written=tuple(_field_change(change) for change in begun if change.kept_by),
            fired=tuple(
                Firing(a.machine, a.entity, a.trigger, a.source.name, a.target.name if a.target is not None else None)
                for a in (self.world.attempts if rule is not None else ())
            ),
            changed=tuple(_field_change(change) for change in changes if show_path(change.path) not in kept),
            state=tuple((show_path(c.path), show_value(c.type, c.after)) for c in self.world.space.fields(after)),
            fingerprint=f"{self.layout.fingerprint(self.layout.pack(after)):016x}",
            shows=tuple((asked.name, self.shown_of(asked, after)) for asked in self.shows),
            asks=reported.asks.format_map(shown),
        )

    def shown_of(self, asked: Expression, state: Any) -> str:
        """Return the value of an expression as a person reads it; a field is shown as traces show it."""
        value = asked.of(self.world, state)
        fields = {f"s.{show_path(c.path)}": c for c in self.world.space.fields(state)}
        return show_value(fields[asked.text].type, value) if asked.text in fields else shown_answer(value)

    def shown(self, rule: Rule, binding: Binding, before: Any) -> Mapping[str, str]:
        """Return the printed values of a binding; `{request.leader}` shows a field of a message."""
        shown: dict[str, str] = {}
        for (name, parameter), value in zip(rule.params.items(), binding, strict=False):
            if isinstance(parameter, ItemOf | ElementOf):
                path = self.path(parameter, rule, binding)
                sequence: Any = type_at(self.world.space.root, path)
                item = list.__getitem__(value_at(before, path), value)
                shown[name] = ShownItem(str(value) if isinstance(parameter, ItemOf) else show_value(sequence.item, item))
                if isinstance(sequence.item, Record):
                    shown[name].__dict__.update({f: show_value(t, getattr(item, f)) for f, t in sequence.item.fields.items()})
            else:
                shown[name] = numbers_type(parameter, self.world.bounds, name).show(value)
        return shown

    @staticmethod
    def path(parameter: ItemOf | ElementOf, rule: Rule, binding: Binding) -> Path:
        """Return where the sequence or set stands that a parameter ranges over."""
        return (parameter.field,) if isinstance(parameter, ItemOf) else parameter.at(dict(zip(rule.params, binding, strict=False)))

    def received(self, rule: Rule, binding: Binding, before: Any) -> list[MessageItem]:
        """Return the messages that the rule reads: items bound to its parameters, and the first of what it receives from."""
        if before is None:
            return []
        bound = dict(zip(rule.params, binding, strict=True))
        items = [
            (self.path(parameter, rule, binding), bound[name])
            for name, parameter in rule.params.items()
            if isinstance(parameter, ItemOf | ElementOf) and parameter.receives
        ]
        read: list[tuple[Path, int]] = [*items, (path_of(rule.receives, bound), 0)] if rule.receives else [*items]
        messages = []
        for path, index in read:
            type_: Any = type_at(self.world.space.root, path)
            waiting = list(items_of(value_at(before, path)))
            if index < len(waiting):  # a rule that says what it receives may fire where nothing waits
                messages.append(_message(show_path(path), type_.item, waiting[index]))
        return messages

    def only_kept(self, sent: list[MessageItem], received: tuple[MessageItem, ...]) -> set[str]:
        """Return the fields that only remember messages: no rule receives from them, and all that they got is elsewhere, too."""
        elsewhere = [one.content for one in (*sent, *received) if _root(one.channel) in self.channels]
        kept = {one.channel for one in sent if _root(one.channel) not in self.channels}
        return kept - {one.channel for one in sent if one.content not in elsewhere}

    def sent(self, change: Change) -> list[MessageItem]:
        """Return the messages that a change added to a sequence; it may also have removed the first message or all."""
        if not isinstance(change.type, Sequence) or not _is_message(change.type.item):
            return []
        before, after = change.type.freeze(change.before), change.type.freeze(change.after)
        if isinstance(change.type, Collection):
            old = Counter(before)
            new = [item for key, item in zip(after, change.after, strict=True) if _more(old, key)]
            return [_message(show_path(change.path), change.type.item, item) for item in new]
        gone = next(gone for gone in (0, 1, len(before)) if before[gone:] == after[: max(0, len(before) - gone)])
        return [
            _message(show_path(change.path), change.type.item, item) for item in list(change.after)[max(0, len(before) - gone) :]
        ]


def _root(path: str) -> str:
    """Return the field of the state in which a path begins."""
    return re.split(r"[.\[]", path, maxsplit=1)[0]


def _more(old: Counter[Any], key: Any) -> bool:
    """Whether there is one more of an element than before; count it."""
    old[key] -= 1
    return old[key] < 0


class ShownItem(str):
    """The printed index of an item, with the item's fields as attributes."""


def _is_message(type_: Any) -> bool:
    return isinstance(type_, Record) and getattr(type_.cls, "__message__", False)


def _message(channel: str, type_: Any, content: Any) -> MessageItem:
    """Return a message; a tagged one is shown under the name of its tag, as `LeaderAndIsr(...)`."""
    shown = show_value(type_, content)
    if isinstance(type_, Record):
        name = type_.cls.__name__
        if type_.tags is not None:
            tag = show_value(type_.fields[type_.tags[0]], getattr(content, type_.tags[0]))
            name = "".join(word.title() for word in tag.split("_"))
            shown = shown.replace(f"{type_.tags[0]} {tag}, ", "", 1).replace(f"{type_.tags[0]} {tag}", "", 1)
        shown = name + shown
    return MessageItem(channel, plain_value(type_, content), shown)


def _field_change(change: Change) -> FieldChange:
    return FieldChange(
        path=show_path(change.path),
        before=plain_value(change.type, change.before),
        after=plain_value(change.type, change.after),
        shown=show_change(change.type, change.before, change.after),
        kept_by=change.kept_by,
    )
