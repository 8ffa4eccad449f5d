"""Runs the command line: `python -m kafka_spec`, and the file that spark-submit is given."""

import sys

from kafka_spec.command import main

if __name__ == "__main__":
    sys.exit(main())
