"""Integers that behave the same in plain Python and in compiled code.

Compiled numbers have 64 bits and the machine's operators. So an integer beyond 64 bits, or one whose class defines its own
operators, would behave differently there.
"""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T", bound=int)
LARGEST = (1 << 63) - 1

_PRINTING = {
    "__new__", "__repr__", "__str__", "__format__", "__hash__", "__doc__", "__getattribute__", "__sizeof__", "__getnewargs__",
}  # fmt: skip
_IN_PLACE = ("add", "sub", "mul", "floordiv", "mod", "lshift", "rshift", "and", "or", "xor")
_OPERATORS = (*sorted(name for name in vars(int) if name not in _PRINTING), *(f"__i{name}__" for name in _IN_PLACE))
"""The methods that determine how an integer computes, compares and converts."""


_same: set[type] = {int, bool}


def same_numbers(cls: type[T]) -> type[T]:
    """Decorate a class of integers whose operators return the same numbers as those of int, in another class."""
    _same.add(cls)
    return cls


def own_operator(cls: type[int]) -> str:
    """Return the name of an operator that a class of integers redefines, or "" if there is none."""
    if cls not in _own:
        bases = {name: next((base for base in cls.__mro__ if name in vars(base)), int) for name in _OPERATORS}
        _own[cls] = next((name for name, base in bases.items() if base not in _same), "")
    return _own[cls]


_own: dict[type[int], str] = {}


def unusable(value: object) -> str:
    """Return why a value cannot be used in a specification as an integer, or "" if it can."""
    if not isinstance(value, int):
        return f"is {type(value).__name__}, not an integer"
    if own := own_operator(type(value)):
        return f"is a {type(value).__name__}, an integer with its own {own}; use a plain int or IntEnum"
    if not -LARGEST <= value <= LARGEST:
        return "is too large; numbers have 64 bits"
    return ""
