"""Write the model replication/kip_320 in Promela, for Spin: the same states and the same steps.

Written by hand from spec/replication/rules.py, spec/replication/versions/kip_320.py and the rules that it inherits from earlier
versions. Promela models run faster if they compute less, so every binding of every rule is a separate option with literal offsets.
benchmarks/replication.py runs it; by hand:

    python kip_320_promela.py --replicas 3 --log-size 3 --max-records 3 --max-leader-epoch 2 --output k.pml
    spin -a k.pml && gcc -O3 -march=native -DSAFETY -DNOREDUCE -DMEMLIM=16000 -o pan pan.c && ./pan -m1000000 -w27

Spin reports one state more than the model has, since setting the initial ISR is a step: 737,795 at 3, 2, 2, 2 and 4,093,532 at
3, 3, 3, 2.

The state consists of bytes. A leader, a leader epoch, a record and the epoch of an entry are stored as their number plus one, and 0
means none. A set of brokers is a bit mask. The logs of all replicas are one array.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Option:
    """A rule with its parameters filled in."""

    name: str
    guards: tuple[str, ...]
    effects: tuple[str, ...]


@dataclass(frozen=True)
class Model:
    """The model at given bounds, as text."""

    replicas: int
    log_size: int
    max_records: int
    max_leader_epoch: int

    @property
    def brokers(self) -> range:
        """All brokers."""
        return range(self.replicas)

    @property
    def offsets(self) -> range:
        """All offsets of a log."""
        return range(self.log_size)

    @property
    def requests(self) -> range:
        """All LeaderAndIsr requests that can be issued, by their leader epoch."""
        return range(self.max_leader_epoch + 1)

    @property
    def pairs(self) -> Iterator[tuple[int, int]]:
        """All pairs of a leader and another broker."""
        return ((leader, follower) for leader in self.brokers for follower in self.brokers if follower != leader)

    def at(self, replica: int, offset: int) -> int:
        """Return the index of an entry in the array of all logs."""
        return replica * self.log_size + offset

    # the state

    def declarations(self) -> str:
        """Return the variables."""
        entries, requests = self.replicas * self.log_size, len(self.requests)
        arrays = {
            "entry_record": entries,
            "entry_epoch": entries,
            "end_offset": self.replicas,
            "high_watermark": self.replicas,
            "leader_epoch": self.replicas,
            "leader": self.replicas,
            "isr": self.replicas,
            "request_leader": requests,
            "request_isr": requests,
        }
        numbers = ("quorum_leader_epoch", "quorum_leader", "quorum_isr", "requests_issued", "next_record")
        return "\n".join([*(f"byte {name}[{size}];" for name, size in arrays.items()), *(f"byte {name};" for name in numbers)])

    # guards

    def presumes_leadership(self, leader: int) -> str:
        """The leader believes that it leads."""
        return f"leader[{leader}] == {leader + 1}"

    def is_true_leader(self, leader: int) -> str:
        """The leader is the quorum's leader, and believes that it leads."""
        agreed = f"leader_epoch[{leader}] == quorum_leader_epoch"
        return f"(quorum_leader == {leader + 1} && {self.presumes_leadership(leader)} && {agreed})"

    def is_in_same_epoch(self, leader: int, follower: int) -> str:
        """The leader leads, and the follower follows it in the same leader epoch; true of a leader and itself."""
        follows = f"leader[{follower}] == {leader + 1}"
        return f"({self.presumes_leadership(leader)} && {follows} && leader_epoch[{follower}] == leader_epoch[{leader}])"

    def same_entry(self, one: int, other: int, offset: int) -> str:
        """Both logs have the same entry at the offset."""
        here, there = self.at(one, offset), self.at(other, offset)
        reach = f"{offset} < end_offset[{one}] && {offset} < end_offset[{other}]"
        return f"({reach} && entry_record[{here}] == entry_record[{there}] && entry_epoch[{here}] == entry_epoch[{there}])"

    def diverge_at(self, leader: int, follower: int, end: int) -> tuple[str, ...]:
        """`end` is one past the highest offset at which both logs have the same entry."""
        last = [self.same_entry(leader, follower, end - 1)] if end > 0 else []
        return (*last, *("!" + self.same_entry(leader, follower, offset) for offset in range(end, self.log_size)))

    def isr_has_next_entry(self, leader: int) -> tuple[str, ...]:
        """Every member of the leader's ISR is in its epoch and has the entry at its high watermark."""
        return tuple(
            f"(!(isr[{leader}] & {1 << member})"
            f" || ({self.is_in_same_epoch(leader, member)} && high_watermark[{leader}] < end_offset[{member}]))"
            for member in self.brokers
        )

    def high_watermark_is_of_leader_epoch(self, leader: int) -> str:
        """The leader has no entry at its high watermark, or that entry is of its epoch."""
        cases = [f"high_watermark[{leader}] == end_offset[{leader}]"]
        for offset in self.offsets:
            below_end = f"{offset} < end_offset[{leader}]"
            of_epoch = f"entry_epoch[{self.at(leader, offset)}] == leader_epoch[{leader}]"
            cases.append(f"(high_watermark[{leader}] == {offset} && {below_end} && {of_epoch})")
        return f"({' || '.join(cases)})"

    # effects

    def update_quorum(self, leader: str, isr: str) -> tuple[str, ...]:
        """Write leader and ISR with a new epoch, and issue the request of that epoch."""
        return (
            f"request_leader[requests_issued] = {leader}",
            f"request_isr[requests_issued] = {isr}",
            f"quorum_leader = {leader}",
            f"quorum_isr = {isr}",
            "quorum_leader_epoch = requests_issued + 1",
            "requests_issued = requests_issued + 1",
        )

    def take_request(self, request: int, leader: int, replica: int) -> tuple[str, ...]:
        """Take epoch, leader and ISR from the request."""
        return (
            f"leader_epoch[{replica}] = {request + 1}",
            f"leader[{replica}] = {leader + 1}",
            f"isr[{replica}] = request_isr[{request}]",
        )

    def truncate_log(self, replica: int, end: int) -> tuple[str, ...]:
        """Drop the entries from the offset on; the high watermark is lowered with the end of the log."""
        cleared = [self.at(replica, offset) for offset in range(end, self.log_size)]
        lowered = f"high_watermark[{replica}]"
        return (
            *(f"{field}[{place}] = 0" for place in cleared for field in ("entry_record", "entry_epoch")),
            f"end_offset[{replica}] = {end}",
            f"if :: ({lowered} > {end}) -> {lowered} = {end} :: else -> skip fi",
        )

    # rules

    def controller_elect_leader(self) -> Iterator[Option]:
        """Yield the elections of a member of the ISR."""
        for replica in self.brokers:
            guards = (
                f"requests_issued <= {self.max_leader_epoch}",
                f"(quorum_isr & {1 << replica})",
                f"quorum_leader != {replica + 1}",
            )
            yield Option("ControllerElectLeader", guards, self.update_quorum(str(replica + 1), "quorum_isr"))

    def controller_shrink_isr(self) -> Iterator[Option]:
        """Yield the removals from the ISR: of the leader (a last member stays, without a leader), and of another member."""
        left = f"requests_issued <= {self.max_leader_epoch}"
        for replica in self.brokers:
            without = f"quorum_isr & ~{1 << replica}"
            kept = "; ".join(self.update_quorum("0", "quorum_isr"))
            removed = "; ".join(self.update_quorum("0", without))
            choice = f"if :: (quorum_isr == {1 << replica}) -> {kept} :: else -> {removed} fi"
            yield Option("ControllerShrinkIsr", (left, f"quorum_leader == {replica + 1}"), (choice,))
            member = (left, f"quorum_leader != {replica + 1}", f"(quorum_isr & {1 << replica})")
            yield Option("ControllerShrinkIsr", member, self.update_quorum("quorum_leader", without))

    def become_leader(self) -> Iterator[Option]:
        """Yield the deliveries of a request to the leader that it names."""
        for request in self.requests:
            for leader in self.brokers:
                names_it = f"{request} < requests_issued && request_leader[{request}] == {leader + 1}"
                is_new = f"{request + 1} > leader_epoch[{leader}]"
                yield Option("BecomeLeader", (names_it, is_new), self.take_request(request, leader, leader))

    def become_follower(self) -> Iterator[Option]:
        """Yield the deliveries of a request to a follower, which truncates its log to where it diverges from the leader's."""
        for request in self.requests:
            for leader, replica in self.pairs:
                guards = (
                    f"{request} < requests_issued",
                    f"{request + 1} > leader_epoch[{replica}]",
                    f"request_leader[{request}] == {leader + 1}",
                    self.presumes_leadership(leader),
                    f"leader_epoch[{leader}] == {request + 1}",
                )
                for end in range(self.log_size + 1):
                    effects = (*self.truncate_log(replica, end), *self.take_request(request, leader, replica))
                    yield Option("BecomeFollower", (*guards, *self.diverge_at(leader, replica, end)), effects)

    def leader_write(self) -> Iterator[Option]:
        """Yield the writes of the next record, one for each end offset."""
        for leader in self.brokers:
            for offset in self.offsets:
                place = self.at(leader, offset)
                guards = (
                    self.presumes_leadership(leader),
                    f"next_record < {self.max_records}",
                    f"end_offset[{leader}] == {offset}",
                )
                effects = (
                    f"entry_record[{place}] = next_record + 1",
                    f"entry_epoch[{place}] = leader_epoch[{leader}]",
                    f"end_offset[{leader}] = {offset + 1}",
                    "next_record = next_record + 1",
                )
                yield Option("LeaderWrite", guards, effects)

    def leader_inc_high_watermark(self) -> Iterator[Option]:
        """Yield the advances of the high watermark by one."""
        for leader in self.brokers:
            has_more = f"high_watermark[{leader}] < end_offset[{leader}]"
            effect = f"high_watermark[{leader}] = high_watermark[{leader}] + 1"
            yield Option("LeaderIncHighWatermark", (has_more, *self.isr_has_next_entry(leader)), (effect,))

    def follower_fetch(self) -> Iterator[Option]:
        """Yield the fetches of one entry, one for each end offset of the follower."""
        for leader, follower in self.pairs:
            for offset in self.offsets:
                here, there = self.at(follower, offset), self.at(leader, offset)
                end, mark = offset + 1, f"high_watermark[{leader}]"
                guards = (
                    self.is_in_same_epoch(leader, follower),
                    f"end_offset[{follower}] == {offset}",
                    f"{offset} < end_offset[{leader}]",
                )
                effects = (
                    f"entry_record[{here}] = entry_record[{there}]",
                    f"entry_epoch[{here}] = entry_epoch[{there}]",
                    f"end_offset[{follower}] = {end}",
                    f"high_watermark[{follower}] = ({mark} < {end} -> {mark} : {end})",
                )
                yield Option("FollowerFetch", guards, effects)

    def leader_shrink_isr(self) -> Iterator[Option]:
        """Yield the removals of a follower that lags behind or is in another epoch."""
        for leader, follower in self.pairs:
            in_sync = f"{self.is_in_same_epoch(leader, follower)} && end_offset[{follower}] >= end_offset[{leader}]"
            guards = (f"(isr[{leader}] & {1 << follower})", f"!({in_sync})", self.is_true_leader(leader))
            effects = (f"isr[{leader}] = isr[{leader}] & ~{1 << follower}", f"quorum_isr = isr[{leader}]")
            yield Option("LeaderShrinkIsr", guards, effects)

    def leader_expand_isr(self) -> Iterator[Option]:
        """Yield the additions of a follower that has reached the high watermark."""
        for leader, follower in self.pairs:
            guards = (
                f"!(isr[{leader}] & {1 << follower})",
                self.is_in_same_epoch(leader, follower),
                f"end_offset[{follower}] >= high_watermark[{leader}]",
                self.high_watermark_is_of_leader_epoch(leader),
                self.is_true_leader(leader),
            )
            effects = (f"isr[{leader}] = isr[{leader}] | {1 << follower}", f"quorum_isr = isr[{leader}]")
            yield Option("LeaderExpandIsr", guards, effects)

    def options(self) -> Iterator[Option]:
        """Yield all rules at all bindings."""
        yield from self.controller_elect_leader()
        yield from self.controller_shrink_isr()
        yield from self.become_leader()
        yield from self.become_follower()
        yield from self.leader_write()
        yield from self.leader_inc_high_watermark()
        yield from self.follower_fetch()
        yield from self.leader_shrink_isr()
        yield from self.leader_expand_isr()

    # the property

    def strong_isr(self) -> str:
        """The members of the quorum's ISR have every leader's log up to its high watermark."""
        return "\n    && ".join(
            f"(leader[{leader}] != {leader + 1} || !(quorum_isr & {1 << member}) || high_watermark[{leader}] <= {offset}"
            f" || {self.same_entry(leader, member, offset)})"
            for leader in self.brokers
            for member in self.brokers
            for offset in self.offsets
        )

    def promela(self) -> str:
        """Return the whole model."""
        lines = ["/* replication/kip_320; written by kip_320_promela.py */", "", self.declarations(), ""]
        lines += [f"#define STRONG_ISR ({self.strong_isr()})".replace("\n", " \\\n"), ""]
        everyone = (1 << self.replicas) - 1
        lines += ["active proctype replication() {", f"d_step {{ quorum_isr = {everyone} }};", "end: do", ""]
        for option in self.options():
            guard = "\n    && ".join(option.guards)
            effects = "; ".join(option.effects)
            lines += [f"/* {option.name} */", f":: d_step {{ ({guard}) ->\n    {effects}; assert(STRONG_ISR) }}", ""]
        return "\n".join([*lines, "od", "}", ""])


def main() -> None:
    """Write the model to a file."""
    parser = argparse.ArgumentParser(description="Write replication/kip_320 in Promela, for Spin.")
    parser.add_argument("--replicas", type=int, default=3)
    parser.add_argument("--log-size", type=int, default=3)
    parser.add_argument("--max-records", type=int, default=3)
    parser.add_argument("--max-leader-epoch", type=int, default=2)
    parser.add_argument("--output", type=Path, default=Path("k.pml"), help="where to write it (default: %(default)s)")
    args = parser.parse_args()
    model = Model(args.replicas, args.log_size, args.max_records, args.max_leader_epoch)
    args.output.write_text(model.promela(), encoding="utf-8")


if __name__ == "__main__":
    main()
