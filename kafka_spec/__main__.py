"""Where the command `kafka-spec` begins: `python -m kafka_spec`, and the file that spark-submit is given.

It imports almost nothing before it handles Ctrl-C, so that an interrupt during the imports is reported like any other.
"""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: "Sequence[str] | None" = None) -> int:
    """Run the command line and return its exit code; from here on Ctrl-C is one line and exit code 3."""
    try:
        from kafka_spec.command import run

        return run(sys.argv[1:] if arguments is None else arguments)
    except KeyboardInterrupt:
        # one that came through exec() of a string leaves a mark by which Python ends by signal; the next exec() takes it away
        exec("")
        print("kafka-spec: interrupted", file=sys.stderr)
        return 3


if __name__ == "__main__":
    sys.exit(main())
