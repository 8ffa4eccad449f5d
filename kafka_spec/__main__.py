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
    before = sys.unraisablehook

    def interrupt_again(ignored: "sys.UnraisableHookArgs") -> None:
        """Repeat an interrupt that fell into a callback of a weak reference or a `__del__`, which Python ends and then continues.

        Imports and garbage collection run such callbacks. A thread repeats it, so that the main thread hears it after the callback.
        """
        if issubclass(ignored.exc_type, KeyboardInterrupt):
            start_new_thread(interrupt_main, ())
        else:
            before(ignored)

    sys.unraisablehook = interrupt_again
    try:
        from kafka_spec.command import run

        return run(sys.argv[1:] if arguments is None else arguments)
    except (KeyboardInterrupt, RuntimeError) as error:
        from kafka_spec.interrupts import is_interrupt

        if not is_interrupt(error):
            raise
        # an interrupt inside exec() of a string leaves a flag that makes Python end by signal; another exec() clears it
        exec("")
        print("kafka-spec: interrupted", file=sys.stderr)
        return 3
    finally:
        sys.unraisablehook = before


if __name__ == "__main__":
    sys.exit(main())
