"""What a log shows of things that are not in it: the reasons for which a search may fill them in, and when.

Nothing that is observed depends on when between two observations they happen, so each is filled in as late as possible:
- a broker crashes, loses its session, is shut down, starts again, or is elected controller just before the lines that show it;
- whether its process ended or only its session is read from the next request it handles: a new process has no leader epoch;
- an ISR changes only as often as the versions of the state znode leave room for, and a controller reads it when it reports it;
- an election is requested just before its line.
"""

from __future__ import annotations

from itertools import accumulate

from kafka_spec.conformance.validate.replay.script import Script
from kafka_spec.spec.machines.partition import PartitionState
from kafka_spec.spec.machines.replica import ReplicaState

LINES_OF_EVENT = 4
"""Lines that an event has for each broker, at most: two transitions, a removal, a request."""


class Evidence:
    """For each place in a log, what must have happened shortly before."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.near = LINES_OF_EVENT * len(script.brokers)
        self.controllers = {n: script.place(script.log.controllers[e]) for n, e in enumerate(script.epochs, 1)}
        self._last = {epoch: place for place, (epoch, _) in enumerate(script.lines)}
        self._to_come = [[e for e, last in self._last.items() if last >= place] for place in range(len(script.lines) + 1)]
        self._down: dict[int, list[int]] = {}
        self._up: dict[int, list[int]] = {}
        self._stops: dict[int, list[int]] = {}
        self._collect()
        self._writes = self._find_writes()
        self._most, self._isr = self._versions()

    def _collect(self) -> None:
        before, leader = 0, -1
        for place, (epoch, line) in enumerate(self.script.lines):
            if epoch > before:
                if before:
                    self._add(self._down, self.controllers[before], place)
                    self._add(self._stops, self.controllers[before], place)
                self._add(self._up, self.controllers[epoch], place)
            before = max(before, epoch)
            if line.kind == "replica":
                self._add(self._down if line.target == ReplicaState.OFFLINE else self._up, line.about, place)
            elif line.kind == "told":
                self._add(self._up, line.about, place)
            elif line.kind == "stopped":
                self._add(self._stops, line.about, place)
            elif line.kind == "partition" and line.now is not None:
                if line.source == PartitionState.NEW:
                    for broker in range(len(self.script.log.assigned)):
                        if not line.now.isr >> broker & 1:
                            self._add(self._down, broker, place)
                elif line.source == PartitionState.ONLINE and line.now.leader != leader:
                    self._add(self._stops, leader, place)
            if line.now is not None:
                leader = line.now.leader

    @staticmethod
    def _add(places: dict[int, list[int]], broker: int, place: int) -> None:
        places.setdefault(broker, []).append(place)

    def _find_writes(self) -> set[int]:
        """Return the places at which a controller has written the state znode: its leader epoch is larger than before."""
        found, epoch = set(), -1
        for place, (_, line) in enumerate(self.script.lines):
            if line.kind == "partition" and line.target == PartitionState.NON_EXISTENT:
                epoch = -1
            if line.now is not None and line.now.epoch > epoch:
                epoch = line.now.epoch
                found.add(place)
        return found

    def _versions(self) -> tuple[list[int], list[int]]:
        """Return, for each place, the largest version that the znode can have there, and the ISR that it must come to contain."""
        lines, arrivals = self.script.lines, self.script.arrivals
        shown = [line.now.version for _, line in lines if line.now is not None]
        cap, isr = max([*shown, *(one.now.version for one in arrivals if one.now is not None)], default=0), 0
        most, isrs = [cap], [isr]
        before = list(accumulate((0 if line.now is None else line.now.version for _, line in lines), max, initial=0))
        for place in range(len(lines) - 1, -1, -1):
            now = lines[place][1].now
            if now is not None and now.version >= 0:
                creates = lines[place][1].source == PartitionState.NEW and lines[place][1].kind == "partition"
                cap = max(before[place], now.version - 1 if place in self._writes else now.version)
                isr = 0 if creates else now.isr
            most.append(cap)
            isrs.append(isr)
        return most[::-1], isrs[::-1]

    def most_version(self, place: int) -> int:
        """Return the largest version that the state znode can have before this line."""
        return self._most[place]

    def isr_to_come(self, place: int) -> int:
        """Return the brokers that the ISR in the state znode must come to contain, as bits."""
        return self._isr[place]

    def tells_version(self, place: int) -> int | None:
        """Return the version that the next leadership in the log has, if it was read and not written."""
        lines = self.script.lines
        for number in range(place, len(lines)):
            now = lines[number][1].now
            if now is not None:
                return None if number in self._writes else now.version
        return None

    def to_come(self, place: int) -> list[int]:
        """Return the epochs that still have lines."""
        return self._to_come[place]

    def elects_controller(self, place: int, epoch: int, controller: int) -> bool:
        """Whether the next line is of this epoch, and of this controller."""
        lines = self.script.lines
        return place < len(lines) and lines[place][0] == epoch and self.controllers[epoch] == controller

    def creates(self, place: int) -> bool:
        """Whether the next line creates the partition."""
        lines = self.script.lines
        return place < len(lines) and lines[place][1][:3] == ("partition", -1, int(PartitionState.NON_EXISTENT))

    def deletes(self, place: int) -> bool:
        """Whether a line soon shows that the partition is deleted."""
        return any(
            line.kind == "partition" and line.target == PartitionState.NON_EXISTENT
            for _, line in self.script.lines[place : place + self.near]
        )

    def goes_down(self, place: int, broker: int, lives_on: bool) -> bool:
        """Whether a line soon shows that the broker has gone; `lives_on`: only its session, not its process."""
        return self._near(self._down, place, broker) and self._lived_on(place, broker) in (None, lives_on)

    def _lived_on(self, place: int, broker: int) -> bool | None:
        """Whether the process that handles the broker's next LeaderAndIsr knew a leader epoch; None if the log does not say."""
        for one in self.script.arrivals:
            if one.after > place and self.script.place(one.broker) == broker and one.now is not None:
                return None if one.previous is None else one.previous >= 0
        return None

    def comes_up(self, place: int, arrivals: int, broker: int) -> bool:
        """Whether something soon shows that the broker is back."""
        if self._near(self._up, place, broker):
            return True
        soon = self.script.arrivals[arrivals : arrivals + 1]
        return any(self.script.place(one.broker) == broker for one in soon)

    def shuts_down(self, place: int, broker: int) -> bool:
        """Whether a line soon shows that the broker's replica is stopped, or that it leads or controls no longer."""
        return self._near(self._stops, place, broker)

    def elects_leader(self, place: int, epoch: int) -> bool:
        """Whether the next line is an election by the controller of this epoch."""
        lines = self.script.lines
        if place == len(lines) or lines[place][0] != epoch:
            return False
        line = lines[place][1]
        return line.kind == "partition" and line.target == PartitionState.ONLINE

    def _near(self, places: dict[int, list[int]], place: int, broker: int) -> bool:
        return any(place <= one < place + self.near for one in places.get(broker, ()))
