"""What a user can ask of an explorer, and the answer as plain dictionaries: the place, the steps from it, and what they show.

Independent of the page and of the terminal. An order is a dictionary with the key `do`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from kafka_spec.diagrams.arrows import entity_paths
from kafka_spec.diagrams.chart import bounds_told
from kafka_spec.diagrams.page import step_plain
from kafka_spec.model_check.interpreter.expression import Expression, expression
from kafka_spec.model_check.report.as_test import test_text
from kafka_spec.model_check.traces.walk import Walk
from kafka_spec.spec.vocabulary.table import SpecError
from kafka_spec.spec.vocabulary.trace import Action

MOST_STEPS = 10_000
"""The most random steps that one order takes."""


class ExploreSession:
    """A walk through a model, with the user's columns."""

    def __init__(self, walk: Walk, model: str, columns: Sequence[str] = ()) -> None:
        self.walk, self.model = walk, model
        self.columns: list[Expression] = []
        self.stops: list[str] = []
        """The properties at whose changes a random walk stops."""
        for text in columns:
            self.add_column(text)
        self.entities = entity_paths(walk.world.spec, walk.world.bounds)
        self.orders: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
            "look": lambda order: "",
            "take": self._take,
            "go": self._go,
            "restart": self._restart,
            "follow": self._follow,
            "wander": self._wander,
            "stop": self._stop,
            "nearest": self._nearest,
            "show": self._show,
            "hide": self._hide,
        }

    def perform(self, order: Any) -> dict[str, Any]:
        """Perform an order, and return the view after it; `note` says what came of it.

        Raises:
            SpecError: it cannot be performed; then nothing has changed.
        """
        if not isinstance(order, dict) or str(order.get("do")) not in self.orders:
            raise SpecError(f"an order names what to do: {', '.join(self.orders)}")
        note = self.orders[order["do"]](order)
        return {**self.view(), "note": note}

    # orders

    def _take(self, order: Mapping[str, Any]) -> str:
        self.walk.take(_number(order, "number"))
        return ""

    def _go(self, order: Mapping[str, Any]) -> str:
        self.walk.go(_number(order, "place"))
        return ""

    def _restart(self, order: Mapping[str, Any]) -> str:
        self.walk.restart(_number(order, "start"))
        return ""

    def _follow(self, order: Mapping[str, Any]) -> str:
        """Take the steps that a link names, or none of them."""
        numbers = order.get("numbers")
        if not isinstance(numbers, list) or not all(isinstance(number, int) for number in numbers):
            raise SpecError("a link names the numbers of its steps")
        before = self.walk.start, list(self.walk.numbers), self.walk.place
        try:
            self.walk.restart(_number(order, "start"))
            for number in numbers:
                self.walk.take(number)
        except SpecError as error:
            self.walk.restart(before[0])
            for number in before[1]:
                self.walk.take(number)
            self.walk.go(before[2])
            raise SpecError(f"the link does not fit this model and these bounds: {error}") from None
        return ""

    def _wander(self, order: Mapping[str, Any]) -> str:
        return self.walk.wander(min(_number(order, "steps"), MOST_STEPS), _number(order, "seed"), self.stops)

    def _stop(self, order: Mapping[str, Any]) -> str:
        """Put a breakpoint on a property, or take it away."""
        claim = self.walk.world.claim(str(order.get("name", ""))).name
        if claim in self.stops:
            self.stops.remove(claim)
            return f"random steps no longer stop where {claim} changes"
        self.stops.append(claim)
        return f"random steps stop where {claim} changes"

    def _nearest(self, order: Mapping[str, Any]) -> str:
        asked, place = expression(str(order.get("text", ""))), self.walk.place
        asked.of(self.walk.world, self.walk.state)
        if not self.walk.nearest(asked):
            raise SpecError(f"no state near this one has {asked.text}; 20,000 states were looked at, or there are no more")
        return f"{asked.text}: {self.walk.place - place} steps from where you were"

    def _show(self, order: Mapping[str, Any]) -> str:
        self.add_column(str(order.get("text", "")))
        return ""

    def _hide(self, order: Mapping[str, Any]) -> str:
        self.columns = [column for column in self.columns if column.name != order.get("name")]
        return ""

    def add_column(self, text: str) -> None:
        """Add a column, `name = expression`, in place of one with this name."""
        column = expression(text)
        column.of(self.walk.world, self.walk.state)
        self.columns = [*(other for other in self.columns if other.name != column.name), column]

    # answers

    def view(self) -> dict[str, Any]:
        """Return everything that is in sight at the place."""
        walk, spec = self.walk, self.walk.world.spec
        return {
            "model": spec.name,
            "summary": spec.summary,
            "bounds": bounds_told(walk.world.bounds),
            "start": walk.start,
            "starts": len(walk.beginnings),
            "place": walk.place,
            "numbers": walk.numbers,
            "columns": [column.name for column in self.columns],
            "steps": [
                {"summary": step.summary, "kind": step.kind, "action": str(step.action), "shows": self._columns_of(state)}
                for step, state in zip(walk.steps, walk.states, strict=True)
            ],
            "now": step_plain(walk.step, spec, self.entities),
            "choices": [
                {"number": choice.number, "action": str(choice.action), "kind": choice.kind, "summary": choice.summary}
                for choice in walk.choices()
            ],
            "refusals": [
                {"rule": r.action.rule, "binding": _bound(r.action), "kind": r.kind, "guard": r.guard, "because": r.because}
                for r in walk.refusals()
            ],
            "properties": [{**asdict(judgement), "stop": judgement.name in self.stops} for judgement in walk.judgements()],
            "fingerprint": walk.fingerprint(),
        }

    def _columns_of(self, state: Any) -> list[str]:
        return [self.walk.teller.shown_of(column, state) for column in self.columns]

    def trace_json(self) -> str:
        """Return the behaviour up to the place as JSON."""
        return self.walk.trace().to_json()

    def test(self) -> str:
        """Return the behaviour up to the place as a test."""
        return test_text(self.walk.trace(), self.walk.world.spec, self.model, self.walk.start)


def _bound(action: Action) -> str:
    return ", ".join(f"{name}={value}" for name, value in action.binding)


def _number(order: Mapping[str, Any], name: str) -> int:
    value = order.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise SpecError(f"{order['do']}: {name} is {value!r}; it must be a number, 0 or more")
    return value
