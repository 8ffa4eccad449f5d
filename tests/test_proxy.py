"""The proxy before real brokers, tried with an echo server: it passes on, holds, delays and cuts at a word."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator

import pytest

from kafka_spec.conformance.real.proxy import HOST, Proxy

SOON = 0.2
"""Seconds in which an answer would have come."""


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    """A proxy before a server that sends back what it receives."""
    listening = socket.create_server((HOST, 0))

    def echo(connected: socket.socket) -> None:
        with connected:
            try:
                while data := connected.recv(1 << 16):
                    connected.sendall(data)
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
    with Proxy(listening.getsockname()[1]) as one:
        yield one
    listening.shutdown(socket.SHUT_RDWR)
    listening.close()


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
