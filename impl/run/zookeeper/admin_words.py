"""The words of `kafka-spec admin`: a parser for the command line and for the lines of `run --script`."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from kafka_spec.impl.protocol.errors import KafkaError
from kafka_spec.impl.protocol.topic_checks import parse_assignment
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.run.options import ScriptLine
from kafka_spec.impl.run.zookeeper.admin_tasks import AdminTool, Steps, read_targets
from kafka_spec.spec.vocabulary.table import SpecError


def add_commands(parser: argparse.ArgumentParser) -> None:
    """Add the commands; each sets `task`, a function of the tool and the options."""
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    def command(name: str, summary: str, task: Callable[[AdminTool, argparse.Namespace], Steps]) -> argparse.ArgumentParser:
        one = commands.add_parser(name, help=summary, description=summary)
        one.set_defaults(task=task)
        return one

    create = command("create", "create a topic", _create)
    create.add_argument("topic")
    create.add_argument("--partitions", type=int, default=1, metavar="N")
    create.add_argument("--replication-factor", type=int, default=1, metavar="N")
    create.add_argument("--assignment", metavar="1:2,3:4", help="the replicas of each partition")
    create.add_argument("--config", action="append", default=[], metavar="NAME=VALUE")
    command("delete", "delete a topic", lambda tool, o: tool.delete(o.topic)).add_argument("topic")
    command("list", "list the topics", lambda tool, _: tool.list())
    describe = command("describe", "describe topics, by default all", lambda tool, o: tool.describe(o.topics))
    describe.add_argument("topics", nargs="*", metavar="TOPIC")
    add = command("add-partitions", "increase the number of a topic's partitions", _add_partitions)
    add.add_argument("topic")
    add.add_argument("total", type=int, metavar="N", help="the number of partitions that the topic is to have")
    add.add_argument("--assignment", metavar="1:2,3:4", help="the replicas of all partitions; those that exist stay as they are")
    configure = command("configure", "change the configuration of a topic", _configure)
    configure.add_argument("topic")
    configure.add_argument("--add", action="append", default=[], metavar="NAME=VALUE")
    configure.add_argument("--delete", action="append", default=[], metavar="NAME")
    elect = command("elect", "elect preferred leaders, or unclean ones", _elect)
    elect.add_argument("kind", choices=("preferred", "unclean"))
    elect.add_argument("partitions", nargs="*", metavar="TOPIC:PARTITION", help="by default all")
    _add_reassign(commands.add_parser("reassign", help="move partitions to other brokers"))


def _add_reassign(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    generate = actions.add_parser("generate", help="propose to spread topics over brokers")
    generate.add_argument("--topics", required=True, metavar="A,B,...")
    generate.add_argument("--brokers", required=True, metavar="1,2,...")
    generate.set_defaults(task=lambda tool, o: tool.generate(o.topics.split(","), _brokers(o.brokers)))
    for name, summary in (("execute", "begin"), ("verify", "check"), ("cancel", "cancel")):
        action = actions.add_parser(name, help=f"{summary} the reassignments of a file")
        action.add_argument(
            "--file", type=Path, metavar="FILE", help='{"version":1,"partitions":[{"topic","partition","replicas"}]}'
        )
        action.add_argument("--move", action="append", default=[], metavar="TOPIC:PARTITION=1,2", help="in place of a file")
        if name == "execute":
            action.add_argument("--through-zookeeper", action="store_true", help="write /admin/reassign_partitions, as up to 2.3")
        action.set_defaults(task=_REASSIGN[name])


_REASSIGN: dict[str, Callable[[AdminTool, argparse.Namespace], Steps]] = {
    "execute": lambda tool, o: tool.execute(_targets(o), o.through_zookeeper),
    "verify": lambda tool, o: tool.verify(_targets(o)),
    "cancel": lambda tool, o: tool.cancel(_targets(o)),
}


def _create(tool: AdminTool, o: argparse.Namespace) -> Steps:
    assignment = None if o.assignment is None else parse_assignment(o.assignment)
    return tool.create(o.topic, o.partitions, o.replication_factor, assignment, _pairs(o.config))


def _add_partitions(tool: AdminTool, o: argparse.Namespace) -> Steps:
    return tool.add_partitions(o.topic, o.total, None if o.assignment is None else parse_assignment(o.assignment))


def _configure(tool: AdminTool, o: argparse.Namespace) -> Steps:
    return tool.configure(o.topic, _pairs(o.add), o.delete)


def _elect(tool: AdminTool, o: argparse.Namespace) -> Steps:
    return tool.elect(o.kind == "unclean", [_partition(text) for text in o.partitions])


def _targets(o: argparse.Namespace) -> dict[TopicPartition, tuple[int, ...]]:
    """Return the targets of a file, and of the moves on the command line.

    Raises:
        SpecError: there is neither, or the file cannot be read.
        KafkaError: the file is not one of reassignments.
    """
    found: dict[TopicPartition, tuple[int, ...]] = {}
    if o.file is not None:
        try:
            found = read_targets(o.file.read_text(encoding="utf-8"))
        except OSError as error:
            raise SpecError(f"--file {o.file}: {error.strerror}") from None
    for text in o.move:
        partition, separator, brokers = text.partition("=")
        if not separator:
            raise SpecError(f"--move {text}: write TOPIC:PARTITION=1,2")
        found[_partition(partition)] = tuple(_brokers(brokers))
    if not found:
        raise SpecError("name what to reassign: --file FILE, or --move TOPIC:PARTITION=1,2")
    return found


def _partition(text: str) -> TopicPartition:
    topic, separator, number = text.rpartition(":")
    if not separator or not number.isdecimal():
        raise SpecError(f"{text!r} is not a partition; write TOPIC:PARTITION")
    return TopicPartition(topic, int(number))


def _brokers(text: str) -> list[int]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() for part in parts):
        raise SpecError(f"{text!r} is not a list of brokers; write 1,2,3")
    return list(map(int, parts))


def _pairs(texts: Sequence[str]) -> dict[str, str]:
    for text in texts:
        if "=" not in text:
            raise SpecError(f"{text!r} is not NAME=VALUE")
    return dict(text.split("=", 1) for text in texts)


# ---------------------------------------------------------------------------------------------------------------------
# Scripts


class _ScriptParser(argparse.ArgumentParser):
    """A parser that raises in place of ending the process."""

    def error(self, message: str) -> NoReturn:
        """Raise SpecError."""
        raise SpecError(message)


def read_script(text: str, name: str = "script") -> list[ScriptLine]:
    """Return the commands of a script: each line is a time in seconds and a command of `kafka-spec admin`; `#` begins a comment.

    Raises:
        SpecError: a line is not a time and a command; the message names file and line.
    """
    parser = _ScriptParser(prog="", add_help=False)
    add_commands(parser)
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        words = shlex.split(line, comments=True)
        if not words:
            continue
        try:
            at = float(words[0])
            if not at >= 0:
                raise ValueError
        except ValueError:
            raise SpecError(f"{name}:{number}: {words[0]!r} is not a time in seconds; write `2.5 delete orders`") from None
        try:
            options = parser.parse_args(words[1:])
        except SpecError as error:
            raise SpecError(f"{name}:{number}: {error}") from None
        found.append(ScriptLine(at, " ".join(words[1:]), options, number))
    return sorted(found, key=lambda one: (one.at, one.number))


def begun(options: Any, tool: AdminTool) -> Steps:
    """Return the task of parsed options: a generator, whose first step is the command's.

    Raises:
        KafkaError, SpecError: an argument is malformed.
    """
    task: Steps = options.task(tool, options)
    return task


__all__ = ["KafkaError", "add_commands", "begun", "read_script"]
