"""The subcommand `admin`: topics of a running cluster are created, changed, moved and deleted, through ZooKeeper and controller.

The commands themselves are in run/admin_tasks.py. Exit codes: 0 done; 1 refused; 2 usage; 3 ZooKeeper was lost.
"""

from __future__ import annotations

import argparse
import logging
import sys
from random import Random
from typing import TYPE_CHECKING, Any

from kafka_spec.spec.vocabulary.table import SpecError

if TYPE_CHECKING:
    from kafka_spec.impl.run.tasks import RemoteCall
    from kafka_spec.impl.zookeeper.coordination.interface import Session

DONE, REFUSED, INCONCLUSIVE = 0, 1, 3
PATIENCE = 15.0
"""The longest wait for an answer of ZooKeeper, in seconds."""


def add_admin(parser: argparse.ArgumentParser) -> None:
    """Add the options of `admin`."""
    from kafka_spec.impl.run.zookeeper.admin_words import add_commands

    parser.description = "Administers a running cluster, such as one of `kafka-spec run --zookeeper HOST:PORT/PATH`."
    parser.add_argument("--zookeeper", required=True, metavar="HOST:PORT[/PATH]", help="the cluster's ZooKeeper")
    parser.set_defaults(run=run)
    add_commands(parser)


def run(options: argparse.Namespace) -> int:
    """Run one command to its end; return the exit code."""
    from kafka_spec.impl.protocol.errors import KafkaError
    from kafka_spec.impl.run.zookeeper.admin_tasks import AdminTool
    from kafka_spec.impl.run.zookeeper.admin_words import begun
    from kafka_spec.impl.zookeeper.coordination import znodes
    from kafka_spec.impl.zookeeper.coordination.admin import Admin
    from kafka_spec.impl.zookeeper.coordination.interface import CoordinationError
    from kafka_spec.impl.zookeeper.coordination.zookeeper import Servers

    logging.getLogger("kazoo").addHandler(logging.NullHandler())  # kazoo must not log lost connections to stderr
    try:
        with Servers(options.zookeeper, patience=PATIENCE) as servers:
            session = servers.connect()
            if session.exists(znodes.TOPICS) is None:
                raise SpecError(f"--zookeeper {options.zookeeper}: there is no cluster; name the path under which its /brokers is")
            admin = Admin(session, Random(), lambda text: print(text, file=sys.stderr))
            steps, answer = begun(options, AdminTool(admin, session, print)), None
            while True:
                try:
                    answer = _call(session, steps.send(answer))
                except StopIteration:
                    return DONE
    except KafkaError as error:
        print(f"kafka-spec: {error} ({error.code.name})", file=sys.stderr)
        return REFUSED
    except CoordinationError as error:
        print(f"kafka-spec: ZooKeeper was lost: {error}", file=sys.stderr)
        return INCONCLUSIVE


def _call(session: Session, call: RemoteCall) -> Any:
    """Send a message to a broker at the address of its registration; return its answer, None if there is none in time."""
    import socket

    from kafka_spec.impl.run import wire
    from kafka_spec.impl.zookeeper.coordination import znodes
    from kafka_spec.impl.zookeeper.coordination.broker_znode import decode_broker
    from kafka_spec.impl.zookeeper.coordination.interface import NoNode

    try:
        registration = decode_broker(call.receiver, session.get(znodes.broker(call.receiver))[0])
    except NoNode:
        return None
    endpoint = registration.endpoints[0]
    try:
        with socket.create_connection((endpoint.host, endpoint.port), timeout=call.timeout) as connection:
            connection.sendall(wire.encode(wire.Frame(1, call.message)))
            (length,) = wire.LENGTH.unpack(_read(connection, wire.LENGTH.size))
            return wire.decode(_read(connection, length)).message
    except (OSError, wire.Malformed):
        return None


def _read(connection: Any, size: int) -> bytes:
    """Return this number of bytes from a socket.

    Raises:
        OSError: the connection ends before.
    """
    data = b""
    while len(data) < size:
        part = connection.recv(min(size - len(data), 1 << 16))
        if not part:
            raise OSError("the connection was closed")
        data += part
    return data
