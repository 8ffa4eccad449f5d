"""The command `kafka-spec`: registers what the packages offer, and holds no logic."""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Sequence
from importlib.metadata import version

try:
    from kafka_spec.diagrams import command as drawing
    from kafka_spec.impl import command as running
    from kafka_spec.model_check import command as checking
    from kafka_spec.model_check.command import INCONCLUSIVE, INTERNAL, MISUSE, show_warnings
    from kafka_spec.model_check.exploration import EngineError
except ModuleNotFoundError as error:
    if error.name not in ("numpy", "llvmlite", "rich"):
        raise
    raise SystemExit(f"kafka-spec: {error.name} is missing; install the checker: pip install 'kafka-spec[check]'") from None
from kafka_spec.spec.models import MACHINES, MODELS
from kafka_spec.spec.table import SpecError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return its exit code."""
    parser = argparse.ArgumentParser(
        prog="kafka-spec", description="Kafka's protocol, stated once: check it, trace it, look at it."
    )
    parser.add_argument("--version", action="version", version=f"kafka-spec {version('kafka-spec')}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    checking.add_commands(commands, MODELS, drawing.CHARTS)
    drawing.add_commands(commands, MODELS, MACHINES)
    running.add_commands(commands)
    options = parser.parse_args(arguments)
    show_warnings()
    try:
        code: int = options.run(options)
    except SpecError as error:
        print(f"kafka-spec: {error}", file=sys.stderr)
        return MISUSE
    except EngineError as error:
        print(f"kafka-spec: internal error: {error}", file=sys.stderr)
        return INTERNAL
    except KeyboardInterrupt:
        print("kafka-spec: interrupted", file=sys.stderr)
        return INCONCLUSIVE
    except BrokenPipeError:
        sys.stderr.close()
        return INCONCLUSIVE
    except OSError as error:
        print(f"kafka-spec: the result cannot be written: {error}", file=sys.stderr)
        return MISUSE
    except Exception:
        traceback.print_exc()
        print("kafka-spec: internal error; please report it with the lines above", file=sys.stderr)
        return INTERNAL
    return code
