"""The proxies before real brokers, tried with a server that echoes: they pass on, hold, delay and cut at a word."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from kafka_spec.conformance.kafka_clusters.kafka_proxy import ALTER_PARTITION, FETCH, KafkaProxy
from kafka_spec.conformance.kafka_clusters.proxy import HOST, Proxy

SOON = 0.2
"""Seconds in which an answer would have come."""


@contextmanager
def echoing(skipped: int = 0) -> Iterator[int]:
    """Serve at the port that is yielded: send back what is received, without the first bytes after the size if some are skipped."""
    listening = socket.create_server((HOST, 0))

    def echo(connected: socket.socket) -> None:
        with connected:
            try:
                while data := connected.recv(1 << 16):
                    connected.sendall(struct.pack(">i", len(data) - 4 - skipped) + data[4 + skipped :] if skipped else data)
            except OSError:
                pass

    def serve() -> None:
        while True:
            try:
                connected, _ = listening.accept()
            except OSError:
                return
            threading.Thread(target=echo, args=(connected,), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    yield listening.getsockname()[1]
    listening.shutdown(socket.SHUT_RDWR)
    listening.close()


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    """A proxy before a server that sends back what it receives."""
    with echoing() as port, Proxy(port) as one:
        yield one


@pytest.fixture
def kafka_proxy() -> Iterator[KafkaProxy]:
    """A proxy before a server that answers a frame with its correlation id and what follows."""
    with echoing(skipped=4) as port, KafkaProxy(port) as one:
        yield one


def connect(proxy: Proxy) -> socket.socket:
    """Connect to the proxy."""
    return socket.create_connection((HOST, proxy.port), timeout=5)


def ask(client: socket.socket, text: bytes) -> bytes:
    """Send a text, and return what comes back in time: nothing if the connection is broken or held."""
    try:
        client.sendall(text)
        return client.recv(len(text))
    except (TimeoutError, OSError):
        return b""


def test_it_passes_bytes_on(proxy: Proxy) -> None:
    """Bytes go to the server and come back, on several connections, also more than one piece."""
    with connect(proxy) as one, connect(proxy) as two:
        assert (ask(one, b"a"), ask(two, b"b"), ask(one, b"c")) == (b"a", b"b", b"c")
        much = bytes(range(256)) * 2_000
        one.sendall(much)
        found = b""
        while len(found) < len(much):
            found += one.recv(1 << 16)
        assert found == much


def test_it_holds_and_releases(proxy: Proxy) -> None:
    """What is sent while it holds arrives after the release, in order, on the connection that stayed open."""
    with connect(proxy) as client:
        assert ask(client, b"a") == b"a"
        proxy.hold()
        client.settimeout(SOON)
        assert ask(client, b"b") == b""
        proxy.release()
        client.settimeout(5)
        assert client.recv(1) == b"b"
        assert ask(client, b"c") == b"c"


def test_it_holds_at_a_trigger(proxy: Proxy) -> None:
    """It holds at the first piece of which the trigger is true; what came before has passed, what comes after waits behind it."""
    proxy.hold_when(lambda piece: b"stop" in piece)
    with connect(proxy) as client:
        assert ask(client, b"go") == b"go"
        assert proxy.held_by is None
        client.settimeout(SOON)
        assert ask(client, b"stop") == b""
        assert proxy.held_by == b"stop"
        assert ask(client, b"later") == b""
        proxy.release()
        client.settimeout(5)
        found = b""
        while len(found) < len(b"stoplater"):
            found += client.recv(16)
        assert found == b"stoplater"
        assert ask(client, b"stop") == b"stop"


def test_it_cuts_and_mends(proxy: Proxy) -> None:
    """A cut breaks open connections and refuses others, and what was held is lost; mended, it passes on again."""
    with connect(proxy) as client:
        assert ask(client, b"a") == b"a"
        proxy.hold()
        client.sendall(b"held")
        proxy.cut()
        proxy.release()
        assert ask(client, b"b") == b""
    with connect(proxy) as refused:
        assert ask(refused, b"c") == b""
    proxy.mend()
    with connect(proxy) as client:
        assert ask(client, b"d") == b"d"


def test_it_delays(proxy: Proxy) -> None:
    """A delay counts in both directions."""
    proxy.delay = 0.1
    with connect(proxy) as client:
        began = time.monotonic()
        assert ask(client, b"a") == b"a"
        assert time.monotonic() - began >= 2 * proxy.delay


def test_it_survives_a_server_that_is_gone() -> None:
    """Where nobody listens a connection is closed, and the proxy can be ended."""
    with socket.create_server((HOST, 0)) as listening:
        port = listening.getsockname()[1]
    with Proxy(port) as proxy, connect(proxy) as client:
        assert ask(client, b"a") == b""


def test_a_proxy_that_ends_closes_what_it_accepts() -> None:
    """Connections that a proxy has hardly accepted when it ends are closed."""
    with echoing() as port:
        for _ in range(40):
            with Proxy(port) as proxy:
                client = connect(proxy)
            with client, contextlib.suppress(ConnectionResetError):
                client.settimeout(1)
                assert client.recv(1) == b""


def request(key: int, correlation: int, client: bytes = b"broker-1") -> bytes:
    """Return a frame with the header of a request."""
    body = struct.pack(">hhih", key, 0, correlation, len(client)) + client
    return struct.pack(">i", len(body)) + body


def answered(client: socket.socket) -> int | None:
    """Return the correlation id of the next answer, None if none comes soon."""
    client.settimeout(SOON)
    try:
        data = client.recv(1 << 16)
    except TimeoutError:
        return None
    return int(struct.unpack_from(">i", data, 4)[0])


def test_a_gate_holds_requests_of_a_kind(kafka_proxy: KafkaProxy) -> None:
    """One client's requests of one kind wait, and pass one by one at a word; others and other clients do not wait."""
    gate = kafka_proxy.gate(FETCH, "broker-1")
    with connect(kafka_proxy) as held, connect(kafka_proxy) as other:
        held.sendall(request(ALTER_PARTITION, 1))
        assert answered(held) == 1
        held.sendall(request(FETCH, 2))
        other.sendall(request(FETCH, 3, b"broker-2"))
        assert (answered(other), answered(held), gate.arrived) == (3, None, 1)
        gate.let_pass()
        assert answered(held) == 2
        held.sendall(request(FETCH, 4))
        assert (answered(held), gate.arrived) == (None, 2)
        gate.open()
        assert answered(held) == 4


def test_a_gate_holds_answers(kafka_proxy: KafkaProxy) -> None:
    """The answer to a request waits where the gate is one for answers; the server has the request."""
    gate = kafka_proxy.gate(ALTER_PARTITION, answers=True)
    with connect(kafka_proxy) as client:
        client.sendall(request(FETCH, 1))
        assert answered(client) == 1
        client.sendall(request(ALTER_PARTITION, 2))
        assert (answered(client), gate.arrived) == (None, 1)
        gate.let_pass()
        assert answered(client) == 2


def test_a_held_request_ends_with_its_connection(kafka_proxy: KafkaProxy) -> None:
    """What was held for a client that has gone takes nobody's leave to pass."""
    gate = kafka_proxy.gate(FETCH)
    with connect(kafka_proxy) as gone:
        gone.sendall(request(FETCH, 1))
        assert answered(gone) is None
    time.sleep(SOON)
    gate.let_pass()
    with connect(kafka_proxy) as client:
        client.sendall(request(FETCH, 2))
        assert answered(client) == 2
