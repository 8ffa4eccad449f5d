"""The command `kafka-spec` and the Python API: registers what the packages offer, and holds no logic.

from kafka_spec import check, trace_of
from spec.models import MODELS

result = check(MODELS["replication/kip_279"], {"replicas": 3, "max_leader_epoch": 1})
print(result.verdict, trace_of(result, "StrongIsr"))
"""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Sequence
from importlib.metadata import version

try:
    from diagrams import command as drawing
    from impl import command as running
    from model_check import command as checking
    from model_check.check import check
    from model_check.command import INCONCLUSIVE, INTERNAL, MISUSE, show_warnings
    from model_check.counterexample import trace_of
    from model_check.exploration import Budget, EngineError, Exploration
except ModuleNotFoundError as error:
    if error.name not in ("numpy", "llvmlite", "rich"):
        raise
    raise SystemExit(f"kafka-spec: {error.name} is missing; install the checker: pip install 'kafka-spec[check]'") from None
from spec.models import MACHINES, MODELS
from spec.table import Spec, SpecError

__all__ = ["MACHINES", "MODELS", "Budget", "EngineError", "Exploration", "Spec", "SpecError", "check", "main", "trace_of"]


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


if __name__ == "__main__":
    sys.exit(main())
