"""Entry point of the command `kafka-spec`: for `python -m kafka_spec`, and as the file for spark-submit.

It imports almost nothing before it handles Ctrl-C, so that an interrupt during the imports is reported like any other.
"""

import sys
from _thread import interrupt_main, start_new_thread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: "Sequence[str] | None" = None) -> int:
    """Run the command line and return its exit code; Ctrl-C gives a one-line message and exit code 3."""
    before, sys.unraisablehook = sys.unraisablehook, _interrupt_again
    try:
        from kafka_spec.command import run

        return run(sys.argv[1:] if arguments is None else arguments)
    except KeyboardInterrupt:
        # an interrupt inside exec() of a string leaves a flag that makes Python end by signal; another exec() clears it
        exec("")
        print("kafka-spec: interrupted", file=sys.stderr)
        return 3
    finally:
        sys.unraisablehook = before


def _interrupt_again(ignored: "sys.UnraisableHookArgs") -> None:
    """Repeat an interrupt that fell into a callback of a weak reference or a `__del__`, which Python ends but nobody else hears.

    Imports and garbage collection run such callbacks. A thread repeats it, so that it reaches the main thread after the callback.
    """
    if issubclass(ignored.exc_type, KeyboardInterrupt):
        start_new_thread(interrupt_main, ())
    else:
        sys.__unraisablehook__(ignored)


if __name__ == "__main__":
    sys.exit(main())
