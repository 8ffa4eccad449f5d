"""Entry point of the command `kafka-spec`: for `python -m kafka_spec`, and as the file for spark-submit.

It imports almost nothing before it handles Ctrl-C, so that an interrupt during the imports is reported like any other.
"""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: "Sequence[str] | None" = None) -> int:
    """Run the command line and return its exit code; Ctrl-C gives a one-line message and exit code 3."""
    try:
        from kafka_spec.command import run

        return run(sys.argv[1:] if arguments is None else arguments)
    except KeyboardInterrupt:
        # an interrupt inside exec() of a string leaves a flag that makes Python end by signal; another exec() clears it
        exec("")
        print("kafka-spec: interrupted", file=sys.stderr)
        return 3


if __name__ == "__main__":
    sys.exit(main())
