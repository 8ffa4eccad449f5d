"""A controller's listener with TLS and SASL is read with the properties that Kafka's own tools take."""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
import trustme
from conftest import ROOT
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key

from kafka_spec.__main__ import main
from kafka_spec.conformance.kafka_classes.jars import FOLDER, checked_jars
from kafka_spec.conformance.kafka_clusters.kraft_processes import CLUSTER_ID, CONTROLLER, KRaftProcesses
from kafka_spec.conformance.metadata.client_security import HANDSHAKE, properties_in, security_of
from kafka_spec.impl.kafka_wire import entities
from kafka_spec.impl.kafka_wire.apis import LENGTH
from kafka_spec.spec.language.domain import SpecError
from tests.test_kraft_controller_on_wire import OurController, WireClient, command, with_controller

HAS_JARS = (ROOT / FOLDER / "4.4.0").is_dir()
LOGIN = 'org.apache.kafka.common.security.{module}.{Module}LoginModule required username="alice" password="it\'s, \\\\"secret";'
USER, PASSWORD = "alice", "it's, \"secret"


@dataclass
class Certificates:
    """A CA and its certificates for this machine, as files of PEM."""

    folder: Path

    def __post_init__(self) -> None:
        authority = trustme.CA()
        self.trusted, self.server, self.client = (self.folder / f"{name}.pem" for name in ("ca", "server", "client"))
        authority.cert_pem.write_to_path(self.trusted)
        for file, names in ((self.server, ("localhost", "127.0.0.1")), (self.client, ("alice@example.org",))):
            made = authority.issue_cert(*names)
            key = load_pem_private_key(made.private_key_pem.bytes(), None)
            data = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())  # Kafka reads no other form
            file.write_bytes(data + b"".join(one.bytes() for one in made.cert_chain_pems))

    def properties(self, name: str, **settings: str) -> Path:
        """Write a client's properties that trust the CA; `_` in a name stands for a dot."""
        usual = {"ssl_truststore_type": "PEM", "ssl_truststore_location": str(self.trusted)}
        file = self.folder / f"{name}.properties"
        lines = [f"{key.replace('_', '.')}={value}\n" for key, value in {**usual, **settings}.items()]
        file.write_text("# of a client\n\n" + "".join(lines), encoding="utf-8")
        return file


# ---------------------------------------------------------------------------------------------------------------------
# Our controller behind TLS and SASL


@asynccontextmanager
async def guarded(port: int, certificates: Certificates, asks_client: bool, takes_login: bool) -> AsyncIterator[int]:
    """Serve TLS, and SASL PLAIN if wanted, in front of a port, and yield the port of that."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(certificates.trusted))
    context.load_cert_chain(certificates.server)
    context.verify_mode = ssl.CERT_REQUIRED if asks_client else ssl.CERT_NONE

    async def frame(reader: asyncio.StreamReader) -> tuple[entities.RequestHead, object]:
        (length,) = LENGTH.unpack(await reader.readexactly(LENGTH.size))
        return entities.read_request(await reader.readexactly(length))

    async def logged_in(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        for _ in range(2):
            head, asked = await frame(reader)
            if head.key == HANDSHAKE:
                wrong = asked.mechanism != "PLAIN"  # type: ignore[attr-defined]
                fields = {"error_code": 33 if wrong else 0, "mechanisms": ("PLAIN",)}
            else:
                wrong = asked.auth_bytes.split(b"\0") != [USER.encode(), USER.encode(), PASSWORD.encode()]  # type: ignore[attr-defined]
                text = "Authentication failed: Invalid username or password" if wrong else None
                fields = {"error_code": 58 if wrong else 0, "error_message": text, "auth_bytes": b"", "session_lifetime": 0}
            answer = entities.write_answer(head.key, head.version, head.correlation, fields)
            writer.write(LENGTH.pack(len(answer)) + answer)
            if wrong:
                return False
        return True

    async def pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(1 << 16):
                writer.write(data)
                await writer.drain()
        writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            if not takes_login or await logged_in(reader, writer):
                behind, to_it = await asyncio.open_connection("127.0.0.1", port)
                await asyncio.gather(pipe(reader, to_it), pipe(behind, writer))
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


def test_a_controller_behind_tls_and_sasl_is_read(tmp_path: Path) -> None:
    """`validate` reads a controller through TLS, with a client's certificate, and through SASL; without them it says why not."""
    files = Certificates(tmp_path)
    tls = files.properties("tls", security_protocol="SSL")
    own = files.properties("own", security_protocol="SSL", ssl_keystore_type="PEM", ssl_keystore_location=str(files.client))
    plain = LOGIN.format(module="plain", Module="Plain")
    login = files.properties("login", security_protocol="SASL_SSL", sasl_mechanism="PLAIN", sasl_jaas_config=plain)
    wrong = files.properties(
        "wrong", security_protocol="SASL_SSL", sasl_mechanism="PLAIN", sasl_jaas_config=plain.replace("alice", "bob")
    )
    other = files.properties("other", security_protocol="SASL_SSL", sasl_mechanism="SCRAM-SHA-256", sasl_jaas_config=plain)
    untrusted = tmp_path / "untrusted.properties"
    untrusted.write_text("security.protocol=SSL\n", encoding="utf-8")

    async def play(controller: OurController, client: WireClient) -> None:
        await client.unfenced(1)
        await client.create("orders", [1])
        for asks, takes, file, expected in (
            (False, False, tls, "HOLDS"),
            (True, False, own, "HOLDS"),
            (False, True, login, "HOLDS"),
            (True, False, tls, "--command-config"),
            (False, False, untrusted, "certificate"),
            (False, False, None, "give --command-config if it has TLS or SASL"),
            (False, True, wrong, "Invalid username or password"),
            (False, True, other, "it does not take sasl.mechanism=SCRAM-SHA-256; it takes PLAIN"),
        ):
            async with guarded(controller.leaders[0].port, files, asks, takes) as port:
                given = () if file is None else ("--command-config", str(file))
                code, text, error = await command("validate", "--bootstrap-controller", f"127.0.0.1:{port}", "-q", *given)
                assert expected in (text or error), (given, asks, takes, error)
                assert code == (0 if expected == "HOLDS" else 2)
                assert error.count("\n") <= 1

    with_controller(tmp_path, play)


# ---------------------------------------------------------------------------------------------------------------------
# Kafka's controller


def wait_until_listening(port: int) -> None:
    """Return as soon as somebody listens at a port."""
    for _ in range(300):
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.1)
    raise AssertionError(f"nobody listens at port {port}")


@pytest.mark.long
@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
@pytest.mark.parametrize("version", ["3.9.1", "4.4.0"])
@pytest.mark.skipif(not HAS_JARS, reason="`make kafka` fetches Kafka's jars")
def test_kafkas_controller_behind_tls_and_sasl(
    version: str, mechanism: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The log of Kafka's own controller is read through TLS with each mechanism of SASL; a wrong password is refused as such."""
    files = Certificates(tmp_path)
    module = ("plain", "Plain") if mechanism == "PLAIN" else ("scram", "Scram")
    login = f'org.apache.kafka.common.security.{module[0]}.{module[1]}LoginModule required username="alice" password="secret"'
    of_users = ' user_alice="secret"' if mechanism == "PLAIN" else ""
    servers = KRaftProcesses(
        tmp_path,
        checked_jars(version, ROOT / FOLDER / version),
        {
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:SASL_SSL",
            "sasl.mechanism.controller.protocol": mechanism,
            f"listener.name.controller.{mechanism.lower()}.sasl.jaas.config": f"{login}{of_users};",
            "listener.name.controller.sasl.enabled.mechanisms": mechanism,
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": files.server,
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": files.trusted,
        },
    )
    more = () if mechanism == "PLAIN" else ("-S", f"{mechanism}=[name=alice,password=secret]")
    settings = servers.write_settings(CONTROLLER, {})
    servers.tool("kafka.tools.StorageTool", ["format", "-t", CLUSTER_ID, "-c", str(settings), *more])
    address = f"127.0.0.1:{servers.ports[CONTROLLER]}"
    right, wrong = (
        files.properties(
            name, security_protocol="SASL_SSL", sasl_mechanism=mechanism, sasl_jaas_config=f"{login.replace('secret', name)};"
        )
        for name in ("secret", "wrong")
    )
    try:
        servers.start(CONTROLLER)
        wait_until_listening(servers.ports[CONTROLLER])
        assert main(["validate", "--bootstrap-controller", address, "--command-config", str(right), "-q"]) == 0
        assert "HOLDS" in capsys.readouterr().out
        assert main(["validate", "--bootstrap-controller", address, "--command-config", str(wrong), "-q"]) == 2
        assert "refuses the authentication" in capsys.readouterr().err
    finally:
        servers.end()


# ---------------------------------------------------------------------------------------------------------------------
# Properties


def test_properties_are_read_as_java_reads_them() -> None:
    """Comments are skipped, a backslash continues a line or escapes a character, and a value may contain `=`."""
    text = '# a\n! b\n a = b=c \nlist=one,\\\n    two\n\nnothing\nc=x\\\\\\ny\\u0041\\"\n'
    assert properties_in(text) == {"a": "b=c", "list": "one,two", "c": 'x\\\nyA"'}


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ("security.protocol=SASL_SSL\n", "sasl.mechanism is not set, which means GSSAPI"),
        ("security.protocol=TLS\n", "security.protocol=TLS cannot be used here; it is one of PLAINTEXT, SSL"),
        ("security.protocol=SASL_PLAINTEXT\nsasl.mechanism=OAUTHBEARER\n", "it is one of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512"),
        ("security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n", "sasl.jaas.config has no username"),
        ("security.protocol=SSL\nssl.truststore.location=a.jks\n", "ssl.truststore.type is JKS"),
        ("security.protocol=SSL\nssl.keystore.type=PKCS12\nssl.keystore.location=a.p12\n", "openssl pkcs12"),
        ("security.protocol=SSL\nssl.truststore.type=PEM\nssl.truststore.location=/nowhere.pem\n", "No such file"),
        ("security.protocol=SSL\nssl.truststore.certificates=none\n", "certificates cannot be read"),
    ],
)
def test_what_cannot_be_used_is_refused_by_name(text: str, reported: str, tmp_path: Path) -> None:
    """Properties that name what is not done here are misuse, with the cure, before anything is connected to."""
    file = tmp_path / "client.properties"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(SpecError, match="--command-config") as refused:
        security_of(file)
    assert reported in str(refused.value)


def test_a_file_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A missing file, and the option without a controller, are misuse."""
    assert main(["validate", "--bootstrap-controller", "127.0.0.1:1", "--command-config", str(tmp_path / "none")]) == 2
    assert "No such file" in capsys.readouterr().err
    assert main(["validate", str(tmp_path), "--command-config", str(tmp_path / "none")]) == 2
    assert "--command-config is for --bootstrap-controller" in capsys.readouterr().err
