"""What a broker logs while it handles a LeaderAndIsr request: every partition of the request in Kafka's order, and nothing else.

`Handling LeaderAndIsr request` announces how many partitions there are (2.6 and later). Each is received, then refused or handled;
each that is handled begins as leader or follower and is completed; then the request is finished
(ReplicaManager.becomeLeaderOrFollower). So a line that is missing is known by those around it: that is a hole in the log, and no
violation. A line that says something else than the request is one. A broker that is killed finishes nothing; its next request
comes on a new channel. Independent of texts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from kafka_spec.conformance.validate.events import LeaderAndIsr

LEADER, FOLLOWER = "leader", "follower"
Key = tuple[int, int]
"""A request: the controller, and the correlation id."""


@dataclass
class Handled:
    """One request, as far as the log shows it."""

    announced: int = -1
    epoch: int = -1
    """The controller's epoch, once a line says it."""
    received: dict[bytes, LeaderAndIsr] = field(default_factory=dict)
    refused: set[bytes] = field(default_factory=set)
    roles: dict[bytes, str] = field(default_factory=dict)
    begun: set[bytes] = field(default_factory=set)
    excused: set[bytes] = field(default_factory=set)
    """Partitions whose leader is not available: they begin nothing."""
    completed: set[bytes] = field(default_factory=set)


class BrokerRequests:
    """The LeaderAndIsr requests of one broker that are being handled."""

    def __init__(
        self, broker: int, missing: Callable[[str], None], differs: Callable[[bytes, str], None], trace: Callable[[], bool]
    ) -> None:
        """`missing` receives a line that is not here or is here twice, `differs` of one that contradicts the request."""
        self._trace = trace
        self._broker = broker
        self._missing = missing
        self._differs = differs
        self._open: dict[Key, Handled] = {}
        self._last: Handled | None = None
        """The request whose lines are being read: those of its partitions do not all name it."""
        self.announces = False
        """This broker's version announces its requests, and the log has shown so."""

    def handles(self, key: Key, count: int) -> None:
        """A request of so many partitions arrives."""
        self.announces = True
        if key in self._open and not self._open[key].received:
            self._missing("the beginning of a LeaderAndIsr request stands twice")
        self._last = self._open[key] = Handled(count)

    def new_channel(self, key: Key | None = None) -> None:
        """Forget all requests but this one: on a new channel after a restart, and where lines are missing."""
        self._open = {one: handled for one, handled in self._open.items() if one == key}
        self._last = self._open.get(key) if key is not None else None

    def next(self, key: Key) -> None:
        """Another request of the controller is read: those before it are finished, since a channel brings one at a time."""
        for controller, correlation in list(self._open):
            if controller == key[0] and correlation != key[1]:
                del self._open[controller, correlation]
                if correlation < key[1]:
                    self._missing("the end of a LeaderAndIsr request")

    def unfinished(self) -> bool:
        """Whether the log ends within a request."""
        return self._last is not None

    def _of(self, key: Key, epoch: int = -1) -> Handled | None:
        found = self._open.get(key)
        if found is None and self.announces:
            self._missing("the beginning of a LeaderAndIsr request")
        elif found is not None and epoch >= 0:
            if found.epoch not in (-1, epoch):
                self._missing(f"a line of a LeaderAndIsr request in controller epoch {epoch}, which is of epoch {found.epoch}")
            found.epoch = epoch
        self._last = found
        return found

    def mentions(self, key: Key, epoch: int, name: bytes | None, role: str, count: int) -> None:
        """A line that says nothing else about a request: how many of its partitions have a role by now, or about one of them."""
        handled = self._of(key, epoch)
        if handled is None or not handled.roles:
            return
        if name is not None and name not in handled.roles:
            self._missing(f"what a broker does with {name.decode('utf-8', 'replace')}")
        if count >= 0:
            has = sum(one == role for one in handled.roles.values())
            has -= len(handled.excused) if role == FOLLOWER else 0
            if count != has:
                self._missing(f"{count} partitions become {role}, and {has} are here")

    def received(self, key: Key, epoch: int, name: bytes, now: LeaderAndIsr) -> None:
        """A partition of a request."""
        handled = self._last = self._open.get(key)
        if handled is None:
            if self.announces:
                self._of(key)
            return
        handled.epoch = epoch
        if name in handled.received:
            self._missing(f"{name.decode('utf-8', 'replace')} is in one request twice")
        handled.received[name] = now

    def refuses(self, key: Key, of: int, name: bytes, epoch: int) -> None:
        """The broker ignores a partition of a request of a controller epoch, for this leader epoch."""
        handled = self._of(key, of)
        if handled is None:
            return
        if name in handled.refused or name in handled.roles:
            self._missing("what a broker did with one partition of a request stands twice")
        handled.refused.add(name)
        reported = handled.received.get(name)
        if reported is None and self._trace():
            self._missing("a partition of a LeaderAndIsr request")
        if reported is not None and reported.epoch != epoch:
            self._differs(name, f"leader epoch {epoch} is refused, and the request has {reported}")

    def starts(self, key: Key, epoch: int, name: bytes, role: str, leader: int | None) -> None:
        """The broker starts to become leader or follower, of this leader if the line names one."""
        handled = self._of(key, epoch)
        if handled is None:
            return
        if name in handled.refused or name in handled.roles:
            self._missing("what a broker did with one partition of a request stands twice")
        handled.roles[name] = role
        reported = handled.received.get(name)
        if reported is None:
            self._missing("a partition of a LeaderAndIsr request")
        if reported is not None and (role == LEADER) != (reported.leader == self._broker):
            self._differs(name, f"it becomes {role}, and the request has {reported}")
        if reported is not None and leader is not None and leader != reported.leader:
            self._differs(name, f"it follows broker {leader}, and the request has {reported}")

    def excuses(self, key: Key, epoch: int, name: bytes, leader: int) -> None:
        """The leader that a follower should follow is not available."""
        handled = self._of(key, epoch)
        if handled is None:
            return
        if name in handled.excused or (handled.roles and name not in handled.roles):
            self._missing("what a broker did with one partition of a request")
        handled.excused.add(name)
        reported = handled.received.get(name)
        if reported is not None and reported.leader != leader:
            self._differs(name, f"leader {leader} is not available, and the request has {reported}")

    def begins(self, name: bytes, role: str, epoch: int, isr: tuple[int, ...] | None, version: int | None) -> None:
        """The partition starts at a leader epoch, with this ISR and version if the line names them."""
        handled = self._last
        if handled is None:
            return
        if name in handled.begun:
            self._missing("the beginning of one leader epoch stands twice")
        handled.begun.add(name)
        if name not in handled.roles and self._trace():
            self._missing("a broker's start to become leader or follower")
        reported = handled.received.get(name)
        if reported is None:
            return
        if reported.epoch != epoch:
            self._differs(name, f"it starts at leader epoch {epoch}, and the request has {reported}")
        if (role == LEADER) != (reported.leader == self._broker):
            self._differs(name, f"it starts as {role}, and the request has {reported}")
        if isr is not None and isr != reported.isr:
            self._differs(name, f"it starts with ISR {','.join(map(str, isr))}, and the request has {reported}")
        if version is not None and version != reported.version >= 0:
            self._differs(name, f"it starts at version {version}, and the request has {reported}")

    def follows(self, name: bytes, leader: int) -> None:
        """A line says which leader a follower has now."""
        reported = None if self._last is None else self._last.received.get(name)
        if reported is not None and reported.leader != leader:
            self._differs(name, f"it follows broker {leader}, and the request has {reported}")

    def completes(self, key: Key, epoch: int, name: bytes, role: str, leader: int | None) -> None:
        """The broker has become leader or follower, of this leader if the line names one."""
        handled = self._of(key, epoch)
        if handled is None:
            return
        if name in handled.completed:
            self._missing("the completion of one partition stands twice")
        handled.completed.add(name)
        if name not in handled.begun | handled.excused or name not in handled.roles:
            self._missing("the beginning of a leader epoch")
        reported = handled.received.get(name)
        if reported is not None and leader not in (None, reported.leader):
            self._differs(name, f"it follows broker {leader}, and the request has {reported}")
        if handled.roles.get(name, role) != role:
            self._differs(name, f"it has become {role}, and was to become {handled.roles[name]}")

    def finishes(self, key: Key, count: int) -> None:
        """The request is finished: each of its partitions was refused, or handled, begun and completed."""
        handled = self._open.pop(key, None)
        self._last = None
        if handled is None:
            if self.announces:
                self._missing("the beginning of a LeaderAndIsr request")
            return
        if not handled.received and not handled.roles:
            return  # at INFO
        reported = set(handled.received)
        done = handled.refused | set(handled.roles)
        if not count == handled.announced == len(reported):
            self._missing(
                f"a LeaderAndIsr request has {handled.announced} partitions, {count} are finished, and {len(reported)} are received"
            )
        elif done != reported:
            self._missing(f"of {len(reported)} partitions of a LeaderAndIsr request {len(done)} are refused or handled")
        elif handled.completed != set(handled.roles):
            self._missing(f"of {len(handled.roles)} partitions that are handled {len(handled.completed)} are completed")
        elif handled.begun | handled.excused != set(handled.roles):
            self._missing(f"of {len(handled.roles)} partitions that are handled {len(handled.begun)} begin a leader epoch")
