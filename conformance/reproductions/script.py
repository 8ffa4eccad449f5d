"""How a reproduction ends as a script."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import NoReturn

from kafka_spec.spec.language.domain import SpecError


def run_script(run: Callable[[], int]) -> NoReturn:
    """Exit with what a script returns, or with 2 and one line if something that it needs is missing, such as Kafka's jars."""
    try:
        code = run()
    except SpecError as error:
        print(error, file=sys.stderr)
        code = 2
    sys.exit(code)
