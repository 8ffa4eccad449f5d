"""The explorer in a terminal: it prints the place and reads one command per line."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from kafka_spec.diagrams.explore.session import ExploreSession
from kafka_spec.spec.vocabulary.table import SpecError

HELP = """\
  NUMBER            take that step               b, f, START..    back, forward, or to a state: g 1
  r [N]             N random steps (100), until an invariant breaks or a property with a stop changes
  x PROPERTY        put a stop on a property, or take it away
  ? EXPRESSION      go to the nearest state where it is true, as in ? s.zookeeper.partitions[0].state.leader == 1
  = NAME = EXPR     show a column with each state
  w [RULE]          what cannot happen here, and which guard refuses it
  s [TEXT]          the state, or the fields whose path has the text
  p                 what the properties say here
  h                 the way here
  save FILE         the trace as JSON            test FILE        the way here as a test
  q                 quit"""


class Terminal:
    """Reads commands, performs them in a session, and prints what is in sight."""

    def __init__(self, session: ExploreSession, say: Callable[[str], None]) -> None:
        self.session, self.say = session, say
        self.seed = 0
        self.known: dict[str, Callable[[str], None]] = {
            "b": lambda rest: self.go(self.session.walk.place - 1),
            "f": lambda rest: self.go(self.session.walk.place + 1),
            "g": lambda rest: self.go(int(rest) - 1),
            "r": self.wander,
            "x": lambda rest: self.do({"do": "stop", "name": rest}),
            "?": lambda rest: self.do({"do": "nearest", "text": rest}),
            "=": lambda rest: self.do({"do": "show", "text": rest}),
            "w": self.refusals,
            "s": self.state,
            "p": lambda rest: self.properties(),
            "h": lambda rest: self.way(),
            "save": lambda rest: self.save(rest, self.session.trace_json()),
            "test": lambda rest: self.save(rest, self.session.test()),
        }

    def run(self, lines: Iterable[str]) -> None:
        """Perform commands until there are no more, or `q`."""
        self.here(self.session.perform({"do": "look"}))
        for line in lines:
            word, _, rest = line.strip().partition(" ")
            if word == "q":
                return
            if not word:
                continue
            try:
                self.perform(word, rest.strip())
            except SpecError as error:
                self.say(f"  {error}")

    def perform(self, word: str, rest: str) -> None:
        """Perform one command."""
        if word.isdecimal():
            choices = self.session.walk.choices()
            if not 1 <= int(word) <= len(choices):
                raise SpecError(f"there are {len(choices)} steps here; there is no number {word}")
            self.do({"do": "take", "number": choices[int(word) - 1].number})
        elif word[0] in "?=" and word not in self.known:
            self.perform(word[0], f"{word[1:]} {rest}".strip())
        elif word == "g" and not rest.isdecimal():
            raise SpecError("g names the number of a state on the way, as in g 1")
        elif word in self.known:
            self.known[word](rest)
        else:
            self.say(HELP)

    def do(self, order: dict[str, Any]) -> None:
        """Perform an order and show the place."""
        self.here(self.session.perform(order))

    def go(self, place: int) -> None:
        """Go to a state of the way."""
        self.do({"do": "go", "place": max(place, 0)})

    def wander(self, rest: str) -> None:
        """Take random steps."""
        if not (rest or "100").isdecimal():
            raise SpecError("r takes a number of steps, as in r 20; x PROPERTY puts a stop on a property")
        self.seed += 1
        self.do({"do": "wander", "steps": int(rest or "100"), "seed": self.seed})

    def here(self, view: dict[str, Any]) -> None:
        """Print the place: the last step, what it changed, what is wrong, and what can happen next."""
        now = view["now"]
        lines = ["", f"state {view['place'] + 1} of {len(view['steps'])}: {now['summary']}"]
        lines += [f"    received {text}" for text in now["received"]] + [f"    sent     {text}" for text in now["sent"]]
        lines += [f"    {path}: {before} -> {after}" for path, before, after, _ in now["changed"]]
        shows = view["steps"][view["place"]]["shows"]
        lines += [f"    {name} is {value}" for name, value in zip(view["columns"], shows, strict=True)]
        lines += [f"  {p['name']} is {p['verdict']}: {p['summary']}" for p in view["properties"] if p["wrong"]]
        lines += [f"  {view['note']}"] if view["note"] else []
        for number, choice in enumerate(view["choices"], 1):
            lines.append(f"  {number:>3}  {choice['summary']}" + (f"  [{choice['kind']}]" if choice["kind"] != "protocol" else ""))
        if not view["choices"]:
            lines.append("  nothing can happen here; w says why")
        self.say("\n".join(lines))

    def refusals(self, rule: str) -> None:
        """Print what cannot happen here."""
        found = [refusal for refusal in self.session.walk.refusals() if rule in refusal.action.rule]
        lines = [f"  {r.action}: {f'{r.guard} is false' if r.guard else 'a bound'}: {r.because}" for r in found]
        self.say("\n".join(lines) or "  everything can happen here")

    def state(self, text: str) -> None:
        """Print the state."""
        found = [f"  {path} = {shown}" for path, shown in self.session.walk.step.state if text in path]
        self.say("\n".join(found) or f"  no field has {text} in its path")

    def properties(self) -> None:
        """Print what the properties say here."""
        self.say(
            "\n".join(
                f"  {j.name} ({j.kind}): {j.verdict}{', stops here' * (j.name in self.session.stops)}"
                for j in self.session.walk.judgements()
            )
        )

    def way(self) -> None:
        """Print the steps so far."""
        walk = self.session.walk
        marks = ["*" if number == walk.place else " " for number in range(len(walk.steps))]
        self.say(
            "\n".join(f"{mark} {n:>3}  {step.summary}" for n, (mark, step) in enumerate(zip(marks, walk.steps, strict=True), 1))
        )

    def save(self, file: str, text: str) -> None:
        """Write a file."""
        if not file:
            raise SpecError("name the file, as in: save way.json")
        try:
            Path(file).write_text(text, encoding="utf-8")
        except OSError as error:
            raise SpecError(f"{file}: {error.strerror}; name a file that can be written") from None
        self.say(f"  written to {file}")
