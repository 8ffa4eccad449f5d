"""The explorer's page, served on loopback only.

The address holds a random token, and a request from another host name or origin is refused, so no other page and no other user can
use it. Nothing is loaded from the network.
"""

from __future__ import annotations

import html
import json
import re
import secrets
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any

from kafka_spec.diagrams.explore.session import ExploreSession
from kafka_spec.diagrams.page import machine_figure
from kafka_spec.spec.vocabulary.table import SpecError

LARGEST = 1 << 20
"""The most bytes of an order."""
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; img-src data:"


class Explorer:
    """A server for one session; `url` is its address with the token."""

    def __init__(self, session: ExploreSession, port: int = 0) -> None:
        self.session = session
        self.token = secrets.token_urlsafe(24)
        self.page = page_of(session)
        self.lock = threading.Lock()
        self.server = ThreadingHTTPServer(("127.0.0.1", port), type("Handler", (_Handler,), {"explorer": self}))
        self.server.daemon_threads = True

    @property
    def hosts(self) -> tuple[str, ...]:
        """The names under which a browser may call this server."""
        return tuple(f"{name}:{self.server.server_address[1]}" for name in ("127.0.0.1", "localhost"))

    @property
    def url(self) -> str:
        """The address of the page."""
        return f"http://{self.hosts[0]}/{self.token}/"

    def serve(self) -> None:
        """Answer until `close` is called from another thread."""
        self.server.serve_forever(poll_interval=0.1)

    def close(self) -> None:
        """Stop answering."""
        self.server.shutdown()
        self.server.server_close()


def page_of(session: ExploreSession) -> str:
    """Return the page of a session."""
    folder, shared = files(__package__), files("kafka_spec.diagrams.page")
    spec = session.walk.world.spec
    parts = {
        "title": html.escape(f"explore {spec.name}"),
        "css": "\n".join(file.read_text(encoding="utf-8") for file in (shared / "page.css", folder / "explore.css")),
        "js": (folder / "explore.js").read_text(encoding="utf-8"),
        "machines": "\n".join(machine_figure(machine) for machine in spec.machines),
    }
    template = (folder / "explore.html").read_text(encoding="utf-8")
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], template)


class _Handler(BaseHTTPRequestHandler):
    """Answers requests for an explorer, which a subclass names."""

    timeout = 30
    explorer: Explorer

    def do_GET(self) -> None:
        files_of = {"": ("text/html", lambda: self.explorer.page), **_downloads(self.explorer.session)}
        if (name := self.asked()) is None:
            return
        if name not in files_of:
            self.answer(404, "text/plain", "there is no such page\n")
            return
        form, text = files_of[name]
        with self.explorer.lock:
            content = text()
        self.answer(200, form, content)

    def do_POST(self) -> None:
        if (name := self.asked()) is None:
            return
        length = self.headers.get("Content-Length", "")
        if name != "do" or not length.isdecimal() or int(length) > LARGEST:
            self.answer(400, "text/plain", "this is not an order\n")
            return
        self.answer(200, "application/json", self.performed(self.rfile.read(int(length))))

    def performed(self, body: bytes) -> str:
        try:
            with self.explorer.lock:
                return json.dumps(self.explorer.session.perform(json.loads(body)))
        except (SpecError, ValueError) as error:
            return json.dumps({"error": str(error)})

    def asked(self) -> str | None:
        """Return what is asked for, or None after a refusal: a wrong host, origin or token."""
        origin = self.headers.get("Origin")
        own = [f"http://{host}" for host in self.explorer.hosts]
        _, token, *rest = [*self.path.partition("?")[0].split("/"), ""]
        known = secrets.compare_digest(token.encode(), self.explorer.token.encode())
        if self.headers.get("Host") in self.explorer.hosts and (origin is None or origin in own) and known:
            return "/".join(rest).strip("/")
        self.answer(403, "text/plain", "refused: use the address that kafka-spec explore printed\n")
        return None

    def answer(self, code: int, form: str, text: str) -> None:
        content = text.encode()
        self.send_response(code)
        self.send_header("Content-Type", f"{form}; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Content-Security-Policy", POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Print nothing; requests are not news."""


def _downloads(session: ExploreSession) -> dict[str, tuple[str, Any]]:
    return {"trace.json": ("application/json", session.trace_json), "test.py": ("text/plain", session.test)}
