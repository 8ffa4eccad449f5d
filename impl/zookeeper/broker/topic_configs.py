"""The configurations of topics as a broker knows them: read when they are needed, and again when ZooKeeper announces a change.

Depends on znodes, not on what a configuration means. `AdminZkClient` announces each change below /config/changes.

Source: Kafka 2.8 DynamicConfigManager.scala, ZkNodeChangeNotificationListener (common/ZkNodeChangeNotificationListener.scala).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress

from kafka_spec.impl.protocol.errors import ErrorCode, KafkaError
from kafka_spec.impl.zookeeper.coordination import znodes
from kafka_spec.impl.zookeeper.coordination.interface import (
    ConnectionLost,
    NoNode,
    Session,
    SessionEvent,
    SessionEventType,
    SessionExpired,
)

EXPIRATION_MS = 15 * 60 * 1000
"""The age at which any broker that looks at announcements deletes one (changeExpirationMs)."""
TOPICS = "topics/"
"""The beginning of the name of a topic in an announcement."""
NOTHING: Mapping[str, str] = {}


class TopicConfigs:
    """The configurations that one broker has read; `changed` is called with a topic and its new one after an announcement."""

    def __init__(self, session: Session, changed: Callable[[str, Mapping[str, str]], object] = lambda *_: None) -> None:
        self.session = session
        self.is_due = True
        """Whether announcements may wait to be read."""
        self._changed = changed
        self._known: dict[str, Mapping[str, str]] = {}
        self._stale: set[str] = set()
        self._seen: set[str] | None = None
        """The announcements that are read, None before the first look: what was announced before is not news."""

    def session_opened(self, session: Session) -> None:
        """Use a new session: changes may have been missed, so everything is read again."""
        self.session = session
        self._missed()

    def heard(self, event: SessionEvent) -> None:
        """Note an event of the session: new announcements, or watches that are lost."""
        if event.kind == SessionEventType.DISCONNECTED:
            self._missed()
        elif event.path == znodes.CONFIG_CHANGES:
            self.is_due = True

    def _missed(self) -> None:
        self.is_due = True
        self._stale.update(self._known)

    def forget(self, topic: str) -> None:
        """Read the topic's configuration again when it is needed next: it may be another topic of the same name."""
        if topic in self._known:
            self._stale.add(topic)

    def of(self, topic: str) -> Mapping[str, str]:
        """Return what is configured for a topic; while ZooKeeper does not answer, what was read last.

        Raises:
            KafkaError: NOT_ENOUGH_REPLICAS: nothing was read yet, and ZooKeeper does not answer; clients try again.
        """
        if topic not in self._known or topic in self._stale:
            try:
                self._read(topic)
            except (ConnectionLost, SessionExpired) as error:
                if topic not in self._known:
                    raise KafkaError(
                        ErrorCode.NOT_ENOUGH_REPLICAS, f"the configuration of {topic} is not known: {error}"
                    ) from error
        return self._known[topic]

    def _read(self, topic: str) -> None:
        path = znodes.topic_config(topic)
        try:
            self._known[topic] = znodes.decode_config(path, self.session.get(path)[0])
        except (NoNode, znodes.Undecodable):  # Kafka takes an unreadable one as empty (ConfigEntityZNode.decode)
            self._known[topic] = NOTHING
        self._stale.discard(topic)

    def tick(self, now: int) -> None:
        """Read new announcements, if there may be any, and delete old ones; without an answer, try again at the next call.

        `now` is the time in milliseconds since 1970.
        """
        if not self.is_due:
            return
        try:
            self._purge(self._look(), now)
            self.is_due = False
        except (ConnectionLost, SessionExpired, NoNode):  # NoNode: before the first broker has registered
            pass

    def _look(self) -> list[str]:
        names = self.session.children(znodes.CONFIG_CHANGES, watch=True)
        if self._seen is None:
            self._seen = set(names)
        for name in names:
            if name not in self._seen:
                self._take(f"{znodes.CONFIG_CHANGES}/{name}")
                self._seen.add(name)
        self._seen.intersection_update(names)
        return names

    def _purge(self, names: Iterable[str], now: int) -> None:
        """Delete old announcements, whoever has read them (purgeObsoleteNotifications)."""
        for name in names:
            path = f"{znodes.CONFIG_CHANGES}/{name}"
            stat = self.session.exists(path)
            if stat is not None and now - stat.ctime > EXPIRATION_MS:
                with suppress(NoNode):  # another broker was faster
                    self.session.delete(path)

    def _take(self, path: str) -> None:
        try:
            entity = znodes.decode_config_change(path, self.session.get(path)[0])
        except (NoNode, znodes.Undecodable):
            return
        if entity.startswith(TOPICS):
            topic = entity.removeprefix(TOPICS)
            self._read(topic)
            self._changed(topic, self._known[topic])
