"""The symbolic state along a path through a function: records with their changes so far, local names, definitions.

Depends on places, not on Python's syntax. A change of the state is pending until something reads what it may have changed; then
the changed state gets a name. So a run of assignments becomes one EXCEPT, and each name is one version of the state.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

from kafka_spec.diagrams.tla.terms import Access, Atom, Except, Term, shown_step
from kafka_spec.diagrams.tla.values import Place, Step, Value

_versions = itertools.count()


@dataclass
class Root:
    """A parameter that is a record or a sequence: the term of its last named version, and the changes since."""

    term: Term
    version: int
    pending: list[tuple[tuple[Step, ...], Term]] = field(default_factory=list)

    def now(self) -> Term:
        """Return the term of its current value."""
        return changed(self.term, self.pending)

    def state(self) -> tuple[int, tuple[object, ...]]:
        """Return a value that differs after a change."""
        return self.version, tuple(self.pending)


def changed(term: Term, changes: list[tuple[tuple[Step, ...], Term]]) -> Term:
    """Return a value with changes applied in order."""
    for steps, value in changes:
        if not steps:  # the whole value is replaced
            rest = changes[changes.index((steps, value)) + 1 :]
            return changed(value, rest)
    if not changes:
        return term
    return Except(term, tuple(("".join(map(shown_step, steps)), value) for steps, value in changes))


@dataclass
class Frame:
    """One path through a function, up to a statement."""

    roots: dict[str, Root]
    locals: dict[str, Value]
    bindings: list[tuple[str, Term]] = field(default_factory=list)

    def fork(self) -> Frame:
        """Return a copy for a branch, with its own definitions."""
        roots = {name: Root(root.term, root.version, list(root.pending)) for name, root in self.roots.items()}
        return Frame(roots, dict(self.locals))

    def settle(self, root: str, name: str) -> None:
        """Bind the current version of a root to a name."""
        self.bindings.append((name, self.roots[root].now()))
        self.put(root, Atom(name))

    def put(self, root: str, term: Term) -> None:
        """Replace the value of a root."""
        self.roots[root] = Root(term, next(_versions))

    def touched(self, place: Place) -> bool:
        """Whether a pending change may have changed the value at a place."""
        return any(overlap(steps, place.steps) for steps, _ in self.roots[place.root].pending)


def overlap(one: tuple[Step, ...], other: tuple[Step, ...]) -> bool:
    """Whether two places may overlap: none of their steps surely differ."""
    return not any(apart(a, b) for a, b in zip(one, other, strict=False))


def apart(one: Step, other: Step) -> bool:
    """Whether two steps surely lead to different places."""
    if isinstance(one, str) or isinstance(other, str):
        return one != other
    numbers = isinstance(one, Atom) and isinstance(other, Atom) and one.text.isdecimal() and other.text.isdecimal()
    return numbers and one != other


def walked(term: Term, steps: tuple[Step, ...]) -> Term:
    """Return the value that steps lead to."""
    for step in steps:
        term = Access(term, step)
    return term


def new_root(name: str) -> Root:
    """Return the root of a parameter that was not changed."""
    return Root(Atom(name), next(_versions))
