"""The registration of a broker, as the content of /brokers/ids/N: Kafka has written five versions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafka_spec.impl.protocol.registration import BrokerRegistration, Endpoint
from kafka_spec.impl.zookeeper.coordination import znodes
from kafka_spec.impl.zookeeper.coordination.znode_json import Content, read_list, read_number, read_text, shown, to_json
from kafka_spec.impl.zookeeper.coordination.znode_json import Undecodable as Undecodable

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
"""Kafka's security protocols."""
DEFAULT_PROTOCOLS = {name: name for name in PROTOCOLS}
"""The listeners of a registration without a map of protocols: each is named by its protocol."""


def encode_broker(registration: BrokerRegistration) -> bytes:
    """Return the content of /brokers/ids/N in the broker's version, 2 to 5."""
    plain = next((e for e in registration.endpoints if e.protocol == "PLAINTEXT"), None)
    content: dict[str, Any] = {}
    if registration.version >= 5:
        content["features"] = {name: dict(levels) for name, levels in registration.features.items()}
    if registration.version >= 4:
        content["listener_security_protocol_map"] = {e.listener: e.protocol for e in registration.endpoints}
    content["endpoints"] = [str(endpoint) for endpoint in registration.endpoints]
    if registration.version >= 3 and registration.rack is not None:
        content["rack"] = registration.rack
    content["jmx_port"] = registration.jmx_port
    content["port"] = plain.port if plain else -1
    content["host"] = plain.host if plain else None
    content["version"] = registration.version
    content["timestamp"] = str(registration.timestamp)
    return to_json(content)


def decode_broker(number: int, data: bytes) -> BrokerRegistration:
    """Return the registration that a content of /brokers/ids/N says; version 1 has one plain endpoint.

    Names of listeners are upper case. Refused are an unknown protocol, two endpoints of one listener, and a listener that the map
    of protocols lacks (EndPoint.createEndPoint, Broker).
    """
    with Content(znodes.broker(number), data) as content:
        version = read_number(content["version"])
        if version < 1:
            raise ValueError(f"version {version}")
        if version == 1:
            endpoints = [Endpoint(read_text(content["host"]), read_number(content["port"]))]
        else:
            endpoints = _endpoints(
                read_list(content["endpoints"]), content.get("listener_security_protocol_map", DEFAULT_PROTOCOLS)
            )
        rack, features = content.get("rack"), content.get("features") or {}
        return BrokerRegistration(
            number,
            tuple(endpoints),
            None if rack is None else read_text(rack),
            read_number(content["jmx_port"]),
            int(content.get("timestamp", 0)),
            {
                read_text(name): {read_text(k): read_number(level) for k, level in levels.items()}
                for name, levels in features.items()
            },
            version,
        )


def _endpoints(texts: Sequence[str], protocols: Mapping[str, str]) -> list[Endpoint]:
    known = {listener: read_text(protocol).upper() for listener, protocol in protocols.items()}
    if strange := sorted(set(known.values()) - set(PROTOCOLS)):
        raise ValueError(f"{strange[0]} is not a security protocol")
    found = [_endpoint(text, known) for text in texts]
    if len({endpoint.listener for endpoint in found}) < len(found):
        raise ValueError("two endpoints of one listener")
    return found


def _endpoint(text: str, protocols: Mapping[str, str]) -> Endpoint:
    listener, separator, address = text.partition("://")
    host, colon, port = address.rpartition(":")
    if not separator or not colon:
        raise ValueError(shown(text))
    name = read_text(listener).upper()
    return Endpoint(read_text(host.removeprefix("[").removesuffix("]")), read_number(int(port)), name, protocols[name])
