"""The module under construction: its definitions in order, its names, and the operators that TLA+ lacks and the spec needs.

Handles names and comments; independent of the translation.
"""

from __future__ import annotations

import enum
import re
import textwrap
from collections.abc import Sequence

from kafka_spec.diagrams.tla.terms import WIDTH, Atom, Term, hung, number

RESERVED = {
    "Any", "Append", "Assert", "BOOLEAN", "Cardinality", "FALSE", "Head", "Init", "Int", "IsFiniteSet", "JavaTime", "Len", "Nat",
    "Next", "Permutations", "Print", "PrintT", "RandomElement", "STRING", "SelectSeq", "Seq", "SortSeq", "Spec", "Step", "SubSeq",
    "StateConstraint", "StateView", "TLCEval", "TLCGet", "TLCSet", "TRUE", "Tail", "ToString", "TypeInvariant", "it", "state",
}  # fmt: skip

HELPERS = {
    "Min": "Min(a, b) == IF a <= b THEN a ELSE b",
    "Max": "Max(a, b) == IF a >= b THEN a ELSE b",
    "AtLeast": "AtLeast(low) == {n \\in Int : n >= low}",
    "Distinct": "Distinct(items) == \\A i, j \\in DOMAIN items : items[i] = items[j] => i = j",
    "UpTo": (
        "\\* The sequences of at most so many items of a set.\n"
        "UpTo(items, most) == UNION {[1..length -> items] : length \\in 0..most}"
    ),
    "Truncate": (
        "\\* A sequence without its items from the offset `length` on.\n"
        "Truncate(items, length) == IF length < Len(items) THEN SubSeq(items, 1, length) ELSE items"
    ),
    "Highest": "Highest(set) == CHOOSE n \\in set : \\A m \\in set : n >= m",
    "Total": (
        "\\* The sum of Op(m) for each m of a set.\n"
        "Total(Op(_), set) ==\n"
        "  LET RECURSIVE From(_)\n"
        "      From(rest) == IF rest = {} THEN 0 ELSE LET m == CHOOSE m \\in rest : TRUE IN Op(m) + From(rest \\ {m})\n"
        "  IN From(set)"
    ),
    "Lowest": "Lowest(set) == CHOOSE n \\in set : \\A m \\in set : n <= m",
    "Fold": (
        "\\* A loop: `value` after Op(value, i) for each i from low to high. `next = next` has TLC take one turn after the other.\n"
        "Fold(Op(_, _), value, low, high) ==\n"
        "  LET RECURSIVE From(_, _)\n"
        "      From(now, i) ==\n"
        "        IF i > high THEN now\n"
        "        ELSE LET next == Op(now, i) IN IF next = next THEN From(next, i + 1) ELSE now\n"
        "  IN From(value, low)"
    ),
    "Below": "Below(a, b) == a < b",
    "OrNone": "OrNone(set) == IF set = {} THEN {-1} ELSE set",
    "InOrder": (
        "\\* The elements of a set in order.\n"
        "InOrder(set, Before(_, _)) ==\n"
        "  LET RECURSIVE From(_)\n"
        "      From(rest) ==\n"
        "        IF rest = {} THEN <<>>\n"
        "        ELSE LET first == CHOOSE m \\in rest : \\A n \\in rest : n = m \\/ Before(m, n)\n"
        "             IN <<first>> \\o From(rest \\ {first})\n"
        "  IN From(set)"
    ),
    "BagMembers": (
        "\\* A bag is the set of its distinct members, each in a pair with how often it is there.\n"
        "BagMembers(bag) == {pair[1] : pair \\in bag}"
    ),
    "Copies": "Copies(bag, m) == IF m \\in BagMembers(bag) THEN (CHOOSE pair \\in bag : pair[1] = m)[2] ELSE 0",
    "BagAdd": "BagAdd(bag, m) == (bag \\ {<<m, Copies(bag, m)>>}) \\cup {<<m, Copies(bag, m) + 1>>}",
    "BagRemove": (
        "BagRemove(bag, m) ==\n"
        "  (bag \\ {<<m, Copies(bag, m)>>}) \\cup (IF Copies(bag, m) > 1 THEN {<<m, Copies(bag, m) - 1>>} ELSE {})"
    ),
    "BagSize": (
        "RECURSIVE BagSize(_)\n"
        "BagSize(bag) == IF bag = {} THEN 0 ELSE LET pair == CHOOSE p \\in bag : TRUE IN pair[2] + BagSize(bag \\ {pair})"
    ),
    "BagInOrder": (
        "BagInOrder(bag, Before(_, _)) ==\n"
        "  Fold(LAMBDA now, i :\n"
        "         LET m == InOrder(BagMembers(bag), Before)[i] IN now \\o [j \\in 1..Copies(bag, m) |-> m],\n"
        "       <<>>, 1, Cardinality(BagMembers(bag)))"
    ),
    "Bits": (
        "\\* A set as the number whose bits it is, and back.\n"
        "Bits(set) == Fold(LAMBDA now, i : now + (IF i \\in set THEN 2^i ELSE 0), 0, 0, 29)"
    ),
    "SetOfBits": "SetOfBits(mask) == {i \\in 0..29 : (mask \\div 2^i) % 2 = 1}",
    "FloorDiv": "FloorDiv(a, b) == IF b > 0 THEN a \\div b ELSE (-a) \\div (-b)",
    "Mod": "Mod(a, b) == a - b * FloorDiv(a, b)",
    "BitAnd": (
        "RECURSIVE BitAnd(_, _)\n"
        "BitAnd(a, b) ==\n"
        "  IF a = 0 THEN 0 ELSE IF a = -1 THEN b ELSE 2 * BitAnd(a \\div 2, b \\div 2) + (IF a % 2 = 1 /\\ b % 2 = 1 THEN 1 ELSE 0)"
    ),
    "BitOr": "BitOr(a, b) == a + b - BitAnd(a, b)",
    "BitXor": "BitXor(a, b) == a + b - 2 * BitAnd(a, b)",
    "Holds": "\\* A guard as a value: in an action TLC takes a disjunction for a choice of steps.\nHolds(guard) == guard = TRUE",
    "Number": "\\* A truth value as Python counts it.\nNumber(truth) == IF truth THEN 1 ELSE 0",
}
"""Operators that TLA+ lacks; each is written only if it is used."""

NEEDS = {
    "Mod": ("FloorDiv",),
    "BitOr": ("BitAnd",),
    "BitXor": ("BitAnd",),
    "Bits": ("Fold",),
    "Copies": ("BagMembers",),
    "BagAdd": ("BagMembers", "Copies"),
    "BagRemove": ("BagMembers", "Copies"),
    "BagInOrder": ("BagMembers", "Copies", "Fold", "InOrder"),
}


class Text:
    """The definitions of a module, in order."""

    def __init__(self, taken: Sequence[str]) -> None:
        self.taken = {*RESERVED, *HELPERS, *taken}
        self.definitions: list[str] = []
        self.helpers: set[str] = set()
        self.members: dict[tuple[type, str], str] = {}
        self.enums: dict[type, list[enum.IntEnum]] = {}
        self.constants: dict[tuple[str, int], str] = {}
        self.choosing: set[str] = set()
        """The operators that TLC would treat as a choice of steps if an action contained them unchanged."""

    def global_name(self, want: str) -> str:
        """Return an unused name."""
        name, count = want, 1
        while name in self.taken:
            count += 1
            name = f"{want}{count}"
        self.taken.add(name)
        return name

    def helper(self, name: str) -> None:
        """Request an operator that TLA+ lacks; return its name."""
        self.helpers |= {name, *NEEDS.get(name, ())}

    def member(self, member: enum.IntEnum | int) -> Term:
        """Return the name of a member of an enumeration."""
        assert isinstance(member, enum.IntEnum)
        key = (type(member), member.name)
        if key not in self.members:
            self.members[key] = self.global_name(f"{type(member).__name__}_{member.name}")
            self.enums.setdefault(type(member), []).append(member)
        return Atom(self.members[key])

    def constant(self, name: str, value: int) -> Term:
        """Return the name of a constant of the spec's modules."""
        if (name, value) not in self.constants:
            self.constants[name, value] = self.global_name(name.lstrip("_"))
        return Atom(self.constants[name, value])

    def define(self, name: str, parameters: Sequence[str], term: Term, summary: str = "") -> None:
        """Write a definition, below its comment."""
        head = f"{name}({', '.join(parameters)}) ==" if parameters else f"{name} =="
        flat = f"{head} {term.flat()}"
        if self.chooses(term):
            self.choosing.add(name)
        whole = [flat] if len(flat) <= WIDTH and "LET " not in flat else [head, *hung("  ", term.lines(WIDTH - 2))]
        self.definitions.append("\n".join([*comment(summary), *whole]))

    def chooses(self, term: Term) -> bool:
        """Whether TLC would treat a formula in an action as a choice of steps, and evaluate all of its parts."""
        flat = term.flat()
        return "\\/" in flat or "\\E" in flat or not self.choosing.isdisjoint(re.findall(r"\w+", flat))

    def heading(self, summary: str) -> None:
        """Begin a section of the module."""
        self.definitions.append(heading(summary))

    def top(self) -> list[str]:
        """Return the definitions of enumerations, named numbers and helpers."""
        parts = []
        for enumeration, members in self.enums.items():
            ordered = sorted(members)
            lines = [f"{self.members[enumeration, member.name]} == {int(member)}" for member in ordered]
            parts.append("\n".join([*comment(enumeration.__doc__ or ""), *lines]))
        if self.constants:
            parts.append("\n".join(f"{name} == {number(value).flat()}" for (_, value), name in self.constants.items()))
        return [*parts, *(text for name, text in HELPERS.items() if name in self.helpers)]


def comment(summary: str) -> list[str]:
    """Return a text as lines of a comment."""
    paragraphs = [part for part in re.split(r"\n\s*\n", textwrap.dedent(summary).strip()) if part]
    lines: list[str] = []
    for index, paragraph in enumerate(paragraphs):
        lines += [""] if index else []
        lines += textwrap.wrap(" ".join(paragraph.split()), WIDTH - 3)
    return [f"\\* {line}".rstrip() for line in lines]


def heading(summary: str) -> str:
    """Return a separator line, and the title of the section below."""
    return "\n".join(["-" * WIDTH, *comment(summary)])
