"""Text from specs, manifests and logs, made safe for terminals and CI logs. Does no output; needs nothing but the standard library.

A terminal obeys control characters (ESC, OSC, carriage return), a CI runner obeys lines that begin with `::` or contain `##[`. Text
that somebody else wrote may contain both.
"""

from __future__ import annotations

import re

_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff\ufff9-\ufffb]"
)
_LINE = re.compile(f"[\t\n]|{_CONTROL.pattern}")
_COMMAND = re.compile(r"^(\s*):(?=:)|##(?=\w*\[)", re.MULTILINE)


def visible(text: str) -> str:
    r"""Return a text whose control characters are shown as in Python, such as `\x1b`; line breaks and tabs stay."""
    return _CONTROL.sub(_shown, text)


def plain(text: str) -> str:
    r"""Return a text of any number of lines that neither a terminal nor a CI runner obeys: `::error::` becomes `\::error::`."""
    return _COMMAND.sub(_defused, visible(text))


def one_line(text: str) -> str:
    r"""Return `plain` text of one line: line breaks are shown, too, as `\n`."""
    return plain(_LINE.sub(_shown, text))


def _shown(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape", "surrogatepass").decode("ascii")


def _defused(found: re.Match[str]) -> str:
    return f"{found[1] or ''}\\:" if found[0].endswith(":") else "#\\#"
