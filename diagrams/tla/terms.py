"""TLA+ expressions as trees, and their layout: on one line if they fit, otherwise broken by the usual conventions.

Depends on the syntax of TLA+, not on specs. Operands are in parentheses wherever a reader or SANY could parse them differently.
Long conjunctions and disjunctions are bulleted lists, whose items must stay to the right of the bullet: every layout indents.
"""

from __future__ import annotations

import abc
from dataclasses import dataclass

WIDTH = 110
ATOM, APPLY, POWER, TIMES, PLUS, RANGE, SETS, COMPARE, NOT, JUNCTION, IMPLIES, OPEN = 100, 90, 14, 13, 10, 9, 8, 5, 4, 3, 1, 0


@dataclass(frozen=True)
class Term(abc.ABC):
    """An expression; `strength` says how tightly its operator binds."""

    @property
    def strength(self) -> int:
        """How tightly the operator binds."""
        return ATOM

    @abc.abstractmethod
    def flat(self) -> str:
        """Return it on one line."""

    def broken(self, width: int) -> list[str]:
        """Return it on several lines, if it can be broken."""
        return [self.flat()]

    def lines(self, width: int) -> list[str]:
        """Return it on one line if it fits, else broken."""
        flat = self.flat()
        return [flat] if len(flat) <= width else self.broken(width)


def hung(prefix: str, lines: list[str], suffix: str = "") -> list[str]:
    """Return lines after a prefix; further lines are indented by its width."""
    first, *rest = lines
    result = [prefix + first, *(" " * len(prefix) + line for line in rest)]
    return [*result[:-1], result[-1] + suffix]


def operand(term: Term, above: int) -> str:
    """Return a term on one line, in parentheses unless it binds more tightly than its context."""
    return term.flat() if term.strength > above else f"({term.flat()})"


def operand_lines(term: Term, above: int, width: int) -> list[str]:
    """Return a term on lines, in parentheses unless it binds more tightly than its context."""
    if term.strength > above:
        return term.lines(width)
    return hung("(", term.lines(width - 2), ")")


@dataclass(frozen=True)
class Atom(Term):
    """A name, a number, or any text that needs no parentheses."""

    text: str

    def flat(self) -> str:
        """Return it on one line."""
        return self.text


@dataclass(frozen=True)
class Apply(Term):
    """An operator applied to arguments."""

    name: str
    arguments: tuple[Term, ...]

    @property
    def strength(self) -> int:
        """How tightly the operator binds."""
        return APPLY

    def flat(self) -> str:
        """Return it on one line."""
        return f"{self.name}({', '.join(a.flat() for a in self.arguments)})" if self.arguments else self.name

    def broken(self, width: int) -> list[str]:
        """Return each argument on lines of its own."""
        return bracketed(f"{self.name}(", self.arguments, ")", width)


def bracketed(opening: str, parts: tuple[Term, ...], closing: str, width: int) -> list[str]:
    """Return parts between brackets, filling each line."""
    lines: list[str] = []
    open_line = False
    for index, part in enumerate(parts):
        suffix = "," if index < len(parts) - 1 else closing
        text = part.lines(width - len(opening) - 1)
        if open_line and len(text) == 1 and len(lines[-1]) + len(text[0]) + 2 <= width:
            lines[-1] += f" {text[0]}{suffix}"
            continue
        lines += hung(" " * len(opening) if lines else opening, text, suffix)
        open_line = len(text) == 1
    return lines


@dataclass(frozen=True)
class Access(Term):
    """A field, or an item."""

    of: Term
    step: str | Term

    @property
    def strength(self) -> int:
        """How tightly the operator binds."""
        return APPLY

    def flat(self) -> str:
        """Return it on one line."""
        return operand(self.of, POWER) + shown_step(self.step)


def shown_step(step: str | Term) -> str:
    """Return the text of a field access or an index."""
    return f".{step}" if isinstance(step, str) else f"[{step.flat()}]"


@dataclass(frozen=True)
class Infix(Term):
    """Two operands and the operator between them."""

    symbol: str
    left: Term
    right: Term
    at: int

    @property
    def strength(self) -> int:
        """How tightly the operator binds."""
        return self.at

    @property
    def _left(self) -> int:
        same = isinstance(self.left, Infix) and self.left.symbol == self.symbol and self.symbol in ("+", "*", "\\cup", "\\cap", "-")
        return self.at - 1 if same else self.at

    def flat(self) -> str:
        """Return it on one line."""
        gap = "" if self.symbol == ".." else " "
        return f"{operand(self.left, self._left)}{gap}{self.symbol}{gap}{operand(self.right, self.at)}"

    def broken(self, width: int) -> list[str]:
        """Return the right operand, indented after the left one."""
        left = operand_lines(self.left, self._left, width)
        if self.at <= IMPLIES and max(map(len, left)) > width // 2:
            return [*left, *hung(f"{self.symbol} ", operand_lines(self.right, self.at, width - 4))]
        prefix = f"{left[-1]} {self.symbol} "
        return [*left[:-1], *hung(prefix, operand_lines(self.right, self.at, max(40, width - len(prefix))))]


@dataclass(frozen=True)
class Not(Term):
    """A negation."""

    of: Term

    @property
    def strength(self) -> int:
        """How tightly the operator binds."""
        return NOT

    def flat(self) -> str:
        """Return it on one line."""
        return "~" + operand(self.of, POWER)

    def broken(self, width: int) -> list[str]:
        """Return the negated term on lines."""
        return hung("~", operand_lines(self.of, POWER, width - 1))


@dataclass(frozen=True)
class Junction(Term):
    """A conjunction or a disjunction."""

    symbol: str
    parts: tuple[Term, ...]

    @property
    def strength(self) -> int:
        """How tightly the operator binds."""
        return JUNCTION

    def flat(self) -> str:
        """Return it on one line."""
        return f" {self.symbol} ".join(operand(part, JUNCTION) for part in self.parts)

    def broken(self, width: int) -> list[str]:
        """Return a bullet for each part."""
        return [line for part in self.parts for line in hung(f"{self.symbol} ", part.lines(width - 3))]


@dataclass(frozen=True)
class If(Term):
    """A choice."""

    test: Term
    yes: Term
    no: Term

    @property
    def strength(self) -> int:
        """How tightly the operator binds."""
        return OPEN

    def flat(self) -> str:
        """Return it on one line."""
        return f"IF {self.test.flat()} THEN {self.yes.flat()} ELSE {self.no.flat()}"

    def broken(self, width: int) -> list[str]:
        """Return IF and ELSE IF on lines of their own."""
        lines: list[str] = []
        prefix, now, short = "IF ", self, False
        while True:
            test = hung(prefix, now.test.lines(width - len(prefix)))
            yes = hung("  THEN ", now.yes.lines(width - 7))
            short = len(test) == len(yes) == 1 and len(test[0]) + len(yes[0]) < width
            lines += [f"{test[0]} {yes[0].strip()}"] if short else [*test, *yes]
            if not isinstance(now.no, If):
                break
            prefix, now = "ELSE IF ", now.no
        return [*lines, *hung("ELSE " if short else "  ELSE ", now.no.lines(width - 7))]


@dataclass(frozen=True)
class Let(Term):
    """Definitions, and an expression that uses them."""

    names: tuple[tuple[str, Term], ...]
    body: Term

    @property
    def strength(self) -> int:
        """How tightly the operator binds."""
        return OPEN

    def flat(self) -> str:
        """Return it on one line."""
        return f"LET {' '.join(f'{name} == {term.flat()}' for name, term in self.names)} IN {self.body.flat()}"

    def lines(self, width: int) -> list[str]:
        """Return a line for each definition, and the body below."""
        lines: list[str] = []
        for name, term in self.names:
            prefix = f"{'    ' if lines else 'LET '}{name} == "
            lines += hung(prefix, term.lines(max(40, width - len(prefix))))
        return [*lines, *hung("IN ", self.body.lines(width - 3))]


@dataclass(frozen=True)
class Except(Term):
    """A value with some of its parts replaced."""

    of: Term
    changes: tuple[tuple[str, Term], ...]

    def flat(self) -> str:
        """Return it on one line."""
        return f"[{self.of.flat()} EXCEPT {', '.join(f'!{path} = {term.flat()}' for path, term in self.changes)}]"

    def broken(self, width: int) -> list[str]:
        """Return a line for each change."""
        opening = hung("[", self.of.lines(width - 9), " EXCEPT ")
        *above, last = opening
        if len(last) > 40:
            above, last = [*above, last.rstrip()], "    "
        lines: list[str] = []
        for index, (path, term) in enumerate(self.changes):
            prefix = f"{' ' * len(last) if lines else last}!{path} = "
            comma = "," if index < len(self.changes) - 1 else "]"
            below = width - len(last) - 4
            if len(prefix) + len(term.flat()) >= width and (len(term.flat()) <= below or len(prefix) > 50):
                lines += [prefix.rstrip(), *hung(" " * (len(last) + 4), term.lines(max(40, below)), comma)]
                continue
            lines += hung(prefix, term.lines(max(40, width - len(prefix))), comma)
        return [*above, *lines]


@dataclass(frozen=True)
class Fields(Term):
    """A record (`|->`), or the set of records whose fields are from sets (`:`)."""

    fields: tuple[tuple[str, Term], ...]
    sign: str = " |->"

    def flat(self) -> str:
        """Return it on one line."""
        return f"[{', '.join(f'{name}{self.sign} {term.flat()}' for name, term in self.fields)}]"

    def broken(self, width: int) -> list[str]:
        """Return a line for each field."""
        lines: list[str] = []
        for index, (name, term) in enumerate(self.fields):
            prefix = f"{' ' if lines else '['}{name}{self.sign} "
            lines += hung(prefix, term.lines(max(40, width - len(prefix))), "," if index < len(self.fields) - 1 else "]")
        return lines


@dataclass(frozen=True)
class Tuple(Term):
    """A tuple."""

    parts: tuple[Term, ...]

    def flat(self) -> str:
        """Return it on one line."""
        return f"<<{', '.join(part.flat() for part in self.parts)}>>"

    def broken(self, width: int) -> list[str]:
        """Return each part on lines of its own."""
        return bracketed("<<", self.parts, ">>", width)


@dataclass(frozen=True)
class Enumerated(Term):
    """A set, member by member."""

    parts: tuple[Term, ...]

    def flat(self) -> str:
        """Return it on one line."""
        return f"{{{', '.join(part.flat() for part in self.parts)}}}"

    def broken(self, width: int) -> list[str]:
        """Return as many members on a line as fit."""
        return bracketed("{", self.parts, "}", width)


@dataclass(frozen=True)
class Bind(Term):
    """A term that binds a name: a quantifier, a LAMBDA, a set comprehension or a function."""

    opening: str
    body: Term
    closing: str = ""

    @property
    def strength(self) -> int:
        """How tightly the operator binds."""
        return ATOM if self.closing else OPEN

    def flat(self) -> str:
        """Return it on one line."""
        return f"{self.opening} {self.body.flat()}{self.closing}"

    def broken(self, width: int) -> list[str]:
        """Return the body below, indented."""
        return [self.opening, *hung("  ", self.body.lines(width - 2), self.closing)]


TRUE, FALSE, EMPTY = Atom("TRUE"), Atom("FALSE"), Atom("{}")


def number(value: int) -> Term:
    """Return a number."""
    return Atom(str(value)) if value >= 0 else _Negative(value)


@dataclass(frozen=True)
class _Negative(Term):
    value: int

    @property
    def strength(self) -> int:
        """How tightly it binds: as an operand of arithmetic it needs parentheses."""
        return RANGE

    def flat(self) -> str:
        """Return it on one line."""
        return str(self.value)
