"""How a controller's listener with TLS or SASL is reached: the settings of a client's properties, as Kafka's own tools take them.

Python's ssl makes the TLS connection, aiokafka's authenticators compute the tokens of SASL. What neither can do is refused by name.

Source: Kafka 4.4 CommonClientConfigs.java, SslConfigs.java, SaslConfigs.java, SaslClientAuthenticator.java; KIP-651 (PEM).
"""

from __future__ import annotations

import re
import socket
import ssl
import tempfile
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiokafka.conn import SaslPlainAuthenticator, ScramAuthenticator

from kafka_spec.spec.vocabulary.table import SpecError

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
HANDSHAKE, AUTHENTICATE = 17, 36
"""The requests of SASL."""
HANDSHAKE_VERSION, AUTHENTICATE_VERSION = 1, 2
ESCAPE, WHITE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))"), {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}
"""What a backslash means in properties (Properties.java)."""
LOGIN = re.compile(r"(\w+)\s*=\s*(?:\"((?:[^\"\\]|\\.)*)\"|'((?:[^'\\]|\\.)*)')")
"""An option of a login module in sasl.jaas.config, quoted."""
PEM_CURES = {
    "JKS": "write its certificates with keytool -exportcert -rfc, and give the file with ssl.truststore.type=PEM",
    "PKCS12": "write it with openssl pkcs12 -in STORE -nodes -out FILE, and give FILE with the type PEM",
}
"""How a store of a type that Python does not read becomes one of PEM."""

Ask = Callable[[int, Mapping[str, Any], int], Any]
"""Sends a request by its key, its fields and its version, and returns the entity of its answer."""


class AuthenticationFailed(Exception):  # noqa: N818 - says what happened
    """The server does not accept the credentials."""


@dataclass(frozen=True)
class ClientSecurity:
    """How to connect: with TLS if there is a context, with SASL if there is a mechanism."""

    context: ssl.SSLContext | None = None
    mechanism: str = ""
    user: str = ""
    password: str = ""

    def secured(self, plain: socket.socket, host: str) -> socket.socket:
        """Return a connection with TLS, if that is wanted, else the same.

        Raises:
            OSError: the server has no TLS, or its certificate is not trusted.
        """
        return plain if self.context is None else self.context.wrap_socket(plain, server_hostname=host)

    def authenticate(self, ask: Ask) -> None:
        """Authenticate with SASL, if that is wanted.

        Raises:
            AuthenticationFailed: the server does not take the mechanism or the credentials, or proves no knowledge of them.
        """
        if not self.mechanism:
            return
        answer = ask(HANDSHAKE, {"mechanism": self.mechanism}, HANDSHAKE_VERSION)
        if answer.error_code:
            offered = ", ".join(answer.mechanisms) or "none"
            raise AuthenticationFailed(f"it does not take sasl.mechanism={self.mechanism}; it takes {offered}")
        tokens = self._tokens()
        try:
            token, _ = next(tokens)
            while True:
                answer = ask(AUTHENTICATE, {"auth_bytes": token}, AUTHENTICATE_VERSION)
                if answer.error_code:
                    raise AuthenticationFailed(answer.error_message or "it refuses the user or the password")
                token, _ = tokens.send(bytes(answer.auth_bytes))
        except StopIteration:
            return
        except (ValueError, KeyError, AssertionError) as error:
            raise AuthenticationFailed(f"its answer is not one of {self.mechanism}: {error}") from None

    def _tokens(self) -> Generator[tuple[bytes, bool], bytes, None]:
        login = {"loop": None, "sasl_plain_username": self.user, "sasl_plain_password": self.password}
        tokens: Generator[tuple[bytes, bool], bytes, None]
        if self.mechanism == "PLAIN":
            tokens = SaslPlainAuthenticator(**login).authenticator_plain()
        else:
            tokens = ScramAuthenticator(**login, sasl_mechanism=self.mechanism).authenticator_scram()
        return tokens


PLAINTEXT = ClientSecurity()


def security_of(file: Path) -> ClientSecurity:
    """Return what a file of properties says, as kafka-metadata-quorum --command-config takes it.

    Raises:
        SpecError: it cannot be read, or names what cannot be done here.
    """
    try:
        settings = properties_in(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(
            f"--command-config {file}: {getattr(error, 'strerror', None) or error}; name a client's properties"
        ) from None
    try:
        protocol = _one_of(settings, "security.protocol", PROTOCOLS, "PLAINTEXT")
        context = _context(settings) if protocol.endswith("SSL") else None
        mechanism = _one_of(settings, "sasl.mechanism", MECHANISMS, "GSSAPI") if protocol.startswith("SASL") else ""
        user, password = _login(settings) if mechanism else ("", "")
    except SpecError as error:
        raise SpecError(f"--command-config {file}: {error}") from None
    return ClientSecurity(context, mechanism, user, password)


def properties_in(text: str) -> dict[str, str]:
    """Return the settings of a file of properties: NAME=VALUE, comments, escapes, and lines that a backslash continues."""
    found = {}
    for line in re.sub(r"\\\r?\n[ \t]*", "", text).splitlines():
        name, separator, value = line.strip().partition("=")
        if separator and not name.startswith(("#", "!")):
            found[name.strip()] = ESCAPE.sub(_unescaped, value.strip())
    return found


def _unescaped(escape: re.Match[str]) -> str:
    code, letter = escape.groups()
    return chr(int(code, 16)) if code else WHITE.get(letter, letter)


def _one_of(settings: Mapping[str, str], name: str, known: tuple[str, ...], usual: str) -> str:
    value = settings.get(name, usual)
    if value not in known:
        given = f"{name}={value}" if name in settings else f"{name} is not set, which means {value}, and that"
        raise SpecError(f"{given} cannot be used here; it is one of {', '.join(known)}")
    return value


def _login(settings: Mapping[str, str]) -> tuple[str, str]:
    """Return the user and the password of sasl.jaas.config."""
    text = settings.get("sasl.jaas.config", "")
    options = {name: re.sub(r"\\(.)", r"\1", double or single) for name, double, single in LOGIN.findall(text)}
    if "username" not in options or "password" not in options:
        raise SpecError('sasl.jaas.config has no username="..." and password="..."')
    return options["username"], options["password"]


def _context(settings: Mapping[str, str]) -> ssl.SSLContext:
    """Return the TLS context: certificates that are trusted, and the client's own, if it has one."""
    try:
        if trusted := _pem(settings, "ssl.truststore", "certificates"):
            context = ssl.create_default_context(cadata=trusted)
        else:
            context = ssl.create_default_context()
        own = _pem(settings, "ssl.keystore", "certificate.chain")
        if own is not None:
            with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:  # the library takes a client's key from a file alone
                file.write(own if "PRIVATE KEY" in own else own + "\n" + settings.get("ssl.keystore.key", ""))
                file.flush()
                context.load_cert_chain(file.name, password=settings.get("ssl.key.password", ""))
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        raise SpecError(f"its certificates cannot be read: {getattr(error, 'strerror', None) or error}") from None
    context.check_hostname = settings.get("ssl.endpoint.identification.algorithm", "https") != ""
    return context


def _pem(settings: Mapping[str, str], store: str, inline: str) -> str | None:
    """Return a store as PEM: from a file, or written into the properties; None if there is none."""
    kind, location = settings.get(f"{store}.type", "JKS").upper(), settings.get(f"{store}.location")
    if location is None:
        return settings.get(f"{store}.{inline}")
    if kind != "PEM":
        raise SpecError(f"{store}.type is {kind}, which is not read here; {PEM_CURES.get(kind, 'give one of the type PEM')}")
    return Path(location).read_text(encoding="utf-8")
