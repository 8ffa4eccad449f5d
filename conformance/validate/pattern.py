"""`--pattern`: a PatternLayout of log4j, as a layout of lines. Independent of files and of what messages say.

Source: log4j 1.2 PatternLayout and Log4j 2 "Pattern Layout": conversion words, their options in braces, and format modifiers.
"""

from __future__ import annotations

import re

from kafka_spec.conformance.validate.layouts import LEVEL, Layout, Parts
from kafka_spec.conformance.validate.line_times import TIME
from kafka_spec.spec.vocabulary.table import SpecError

CONVERSION = re.compile(r"%(?P<modifier>-?\d*(?:\.-?\d+)?)(?P<word>[A-Za-z]+|%)(?P<options>(?:\{[^{}]*\})*)")
WORDS = {
    "d": "time", "date": "time", "p": "level", "level": "level", "c": "logger", "logger": "logger",
    "m": "message", "msg": "message", "message": "message", "n": "end", "r": "number", "relative": "number", "L": "number",
    "line": "number", "sn": "number", "pid": "number", "ex": "nothing", "exception": "nothing", "throwable": "nothing",
    "xEx": "nothing", "xThrowable": "nothing", "rEx": "nothing",
}  # fmt: skip
"""Conversion words; those that are not listed stand for any text."""
CLASSES = {
    "time": rb"(?P<time>" + TIME + rb"|.*?)", "level": rb"\s*(?P<level>" + LEVEL + rb")\s*",
    "logger": rb"\s*(?P<logger>[\w.$/-]+)\s*",
    "message": rb"(?P<message>.*?)", "end": rb"", "number": rb"\s*\d+\s*", "nothing": rb"", "any": rb".*?",
}  # fmt: skip
STYLED = re.compile(
    r"%(?:highlight|style|clr|enc|encode|notEmpty|varsNotEmpty|equals|maxLen|replace)\{((?:[^{}]|\{[^{}]*\})*)\}(?:\{[^{}]*\})*"
)
NEEDED = ("time", "level", "message")


def layout_of(pattern: str) -> Layout:
    """Return the layout of a pattern.

    Raises:
        SpecError: it has no time, no level or no message, or one of them twice.
    """
    plain = pattern
    while (nested := STYLED.sub(r"\1", plain)) != plain:
        plain = nested
    whole, at, seen = b"", 0, list[str]()
    for match in CONVERSION.finditer(plain):
        whole += _literal(plain[at : match.start()])
        at = match.end()
        word = match["word"]
        if word == "%":
            whole += b"%"
            continue
        name, rest = _known(word)
        kind = WORDS.get(name, "any")
        if kind in seen and kind in (*NEEDED, "logger"):
            raise SpecError(f"--pattern {pattern!r}: %{name} stands twice in it")
        seen.append(kind)
        whole += CLASSES[kind] + _literal(rest)
    whole += _literal(plain[at:].rstrip("\n"))
    if missing := [kind for kind in NEEDED if kind not in seen]:
        letters = {"time": "%d", "level": "%p", "message": "%m"}
        raise SpecError(f"--pattern {pattern!r}: it has no {letters[missing[0]]}; a line needs a time, a level and a message")
    outer = re.compile(rb"")
    return Layout(
        (Parts(outer, re.compile(rb"(?:.*?)" + whole.rstrip() + rb"\s*$", re.DOTALL), pattern),), shown=pattern, escapes=True
    )


def _known(word: str) -> tuple[str, str]:
    """Return the longest conversion word at the beginning of some letters, and the letters after it, as log4j reads them."""
    for end in range(len(word), 0, -1):
        if word[:end] in WORDS:
            return word[:end], word[end:]
    return word, ""


def _literal(text: str) -> bytes:
    """Return a pattern for text: spaces may be more, since words are padded."""
    return re.sub(rb"(?:\\ )+", rb" +", re.escape(text.encode()))
