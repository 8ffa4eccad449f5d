"""Advice, judged by a real KRaft cluster: what `advise` calls safe is done, with a fault or without, and records are counted.

Each run creates topics, writes records with acks=all, and brings the cluster into a random state: a broker is shut down or killed.
Then a random plan is judged by the metadata log of the running controller: a shutdown, a reassignment, that a broker is
unregistered, or that leaders are elected, preferred ones or uncleanly. It is carried out, and in half of the runs another broker
is killed meanwhile. At last all brokers run again, those that were unregistered too, and each partition is compared with the
advice.

Advice is wrong if acknowledged records are missing that no fault was said to lose; or if, without a fault, no broker leads or the
ISR is below min.insync.replicas, and the advice does not say so. How often the advice says so and it is seen is counted.

    python -m kafka_spec.conformance.reproductions.advice_on_cluster --kafka 4.4.0 --runs 10 --seed 1

It ends with 0 if nothing differs.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any, TypeAlias

from kafka_spec.conformance.advise.advising import CANDIDATES, LEADER, MIN_ISR, RECORDS
from kafka_spec.conformance.advise.plans import OperatorPlan
from kafka_spec.conformance.kafka_classes.jars import NEWEST
from kafka_spec.conformance.kafka_clusters.java_clients import AdminClient
from kafka_spec.conformance.kafka_clusters.kraft_processes import CONTROLLER
from kafka_spec.conformance.reproductions.kraft_cluster import KRaftCluster
from kafka_spec.conformance.reproductions.real_cluster import show
from kafka_spec.spec.decisions.partition_change import ElectionKind

Situation: TypeAlias = dict[str, Any]
"""A situation of the advice, as JSON has it."""
VERSIONS = ("4.1.2", "4.4.0")
BROKERS = (0, 1, 2, 3)
SETTINGS = {"broker.session.timeout.ms": 4000, "broker.heartbeat.interval.ms": 500}
PLANS = ("stop", "stop", "unregister", "reassign", "reassign", ElectionKind.PREFERRED, ElectionKind.UNCLEAN)
"""What is planned, the more often where it is named more often."""
TOPICS, RECORDS_EACH = 6, 5
PATIENCE_MS = 8000
"""How long a producer waits for an answer."""
SEARCHED = 60
"""Seconds for the searches of a plan."""
WATCHED = 6.0
"""Seconds for which the partitions are watched while a plan is carried out."""


@dataclass
class JudgedTopic:
    """A topic of one partition: its replicas, its minimum, the records that were acknowledged, and what was seen of it."""

    name: str
    replicas: tuple[int, ...]
    least: int
    acknowledged: list[str] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    """The properties that were seen violated while the plan was carried out."""


class AdvisedCluster:
    """A cluster, and the runs on it."""

    def __init__(self, cluster: KRaftCluster, admin: AdminClient, random: Random) -> None:
        self.cluster, self.admin, self.random = cluster, admin, random
        self.down: set[int] = set()
        self.counts: Counter[str] = Counter()
        self.differences: list[str] = []

    def run(self, number: int) -> None:
        """Make a run."""
        topics = [self.topic(f"r{number}t{which}") for which in range(TOPICS)]
        self.write(topics)
        self.disturb()
        self.write(topics)
        plan = self.plan(topics)
        advices = self.advices(plan)
        fault = self.random.random() < 0.5
        self.carry_out(plan, topics, fault)
        self.heal()
        self.compare(plan, topics, advices, fault)
        self.admin.delete_topics([topic.name for topic in topics])  # they would be situations of the next plan
        self.cluster.say(f"{dict(self.counts)}; {self.differences or 'nothing differs'}")

    def topic(self, name: str) -> JudgedTopic:
        """Create a topic with one partition."""
        size = self.random.choice((1, 2, 3, 3))
        topic = JudgedTopic(name, tuple(self.random.sample(BROKERS, size)), self.random.randint(1, size))
        self.admin.create_topic(name, {0: topic.replicas}, {"min.insync.replicas": str(topic.least)})
        self.cluster.wait(f"{name} has a leader", partial(self.has_leader, name))
        return topic

    def has_leader(self, topic: str) -> bool:
        """Whether a topic has a leader."""
        return self.admin.partition(topic).leader >= 0

    def write(self, topics: Sequence[JudgedTopic]) -> None:
        """Write records to all topics, and keep those that are acknowledged."""
        producer = self.cluster.clients.producer(self.addresses(), acks="all", patience_ms=PATIENCE_MS)
        sent = [
            (topic, value, self.cluster.clients.send(producer, topic.name, value))
            for topic in topics
            for value in (f"{topic.name} {len(topic.acknowledged)} {each}" for each in range(RECORDS_EACH))
        ]
        for topic, value, future in sent:
            try:
                future.get()
            except self.cluster.not_yet:
                continue
            topic.acknowledged.append(value)
        producer.close()
        self.cluster.say(f"{sum(len(topic.acknowledged) for topic in topics)} records are acknowledged")

    def addresses(self) -> str:
        """Return the addresses of the running brokers."""
        return self.cluster.addresses(*(broker for broker in BROKERS if broker not in self.down))

    def disturb(self) -> None:
        """Shut a broker down, or kill it, or do neither; sometimes it is started again."""
        kind = self.random.choice(("nothing", "shut down", "kill", "kill"))
        if kind == "nothing":
            return
        broker = self.random.choice(BROKERS[:-1])  # the admin client asks the last one
        self.end(broker, signal.SIGTERM if kind == "shut down" else signal.SIGKILL)
        if self.random.random() < 0.3:
            self.start(broker)

    def end(self, broker: int, how: signal.Signals) -> None:
        """End a broker, and wait until it is fenced."""
        self.cluster.signal(broker, how)
        self.down.add(broker)
        self.cluster.wait(f"broker {broker} has ended", lambda: self.cluster.has_ended(broker))
        self.cluster.wait(f"broker {broker} is fenced", lambda: broker not in self.admin.brokers())

    def start(self, broker: int) -> None:
        """Start a broker, and wait until it is unfenced."""
        self.cluster.start(broker)
        self.down.discard(broker)
        self.cluster.wait(f"broker {broker} is unfenced", lambda: broker in self.admin.brokers())

    # -----------------------------------------------------------------------------------------------------------------
    # Plans

    def plan(self, topics: Sequence[JudgedTopic]) -> OperatorPlan:
        """Return a random plan: to shut down a running broker, to unregister any, to reassign a topic, or to elect leaders."""
        kind = self.random.choice(PLANS)
        if isinstance(kind, ElectionKind):
            return OperatorPlan(f"elect leaders, {kind.name}", elects=kind)
        if kind == "stop":
            broker = self.random.choice([one for one in BROKERS[:-1] if one not in self.down])
            return OperatorPlan(f"shut down broker {broker}", stop=frozenset({broker}))
        if kind == "unregister":
            broker = self.random.choice(BROKERS[:-1])
            return OperatorPlan(f"unregister broker {broker}", unregisters=frozenset({broker}))
        topic = self.random.choice(topics)
        target = tuple(self.random.sample(BROKERS, self.random.randint(1, 3)))
        return OperatorPlan(f"reassign {topic.name} to {list(target)}", targets={(topic.name, 0): target})

    def advices(self, plan: OperatorPlan) -> dict[str, Situation]:
        """Return what `kafka-spec advise` says, by partition: it reads the metadata log of the running controller."""
        action = [*(f"--stop={one}" for one in plan.stop), *(f"--unregister={one}" for one in plan.unregisters)]
        if plan.targets:
            file = self.cluster.folder / "plan.json"
            moves = [{"topic": name, "partition": number, "replicas": target} for (name, number), target in plan.targets.items()]
            file.write_text(json.dumps({"partitions": moves}), encoding="utf-8")
            action = ["--reassign", str(file)]
        if plan.elects is not None:
            action = ["--elect", plan.elects.name.lower()]
        log = self.cluster.brokers.data(CONTROLLER) / "__cluster_metadata-0"
        command = [sys.executable, "-m", "kafka_spec", "advise", str(log), *action, "--seconds", f"{SEARCHED}", "--format", "json"]
        advised = json.loads(subprocess.run(command, capture_output=True, text=True, check=False).stdout)
        self.cluster.say(f"{plan.text}: {advised['verdict']}")
        return {name: situation for situation in advised["situations"] for name in situation["partitions"]}

    def carry_out(self, plan: OperatorPlan, topics: Sequence[JudgedTopic], fault: bool) -> None:
        """Do what is planned, with a kill meanwhile or without, and watch the partitions; what was unregistered is killed then."""
        others = [one for one in BROKERS[:-1] if one not in self.down and one not in plan.stop]
        for broker in plan.stop:
            self.cluster.signal(broker, signal.SIGTERM)
            self.down.add(broker)
        for broker in plan.unregisters:
            self.admin.unregister(broker)
        for (topic, _), target in plan.targets.items():
            self.admin.reassign(topic, target)
        if plan.elects is not None:
            self.admin.elect(plan.elects.name, [(topic.name, 0) for topic in topics])
        until = time.monotonic() + WATCHED
        kill_at = time.monotonic() + self.random.uniform(0, 2)
        while time.monotonic() < until:
            if fault and others and time.monotonic() > kill_at:
                victim = self.random.choice(others)
                self.cluster.signal(victim, signal.SIGKILL)
                self.down.add(victim)
                others.clear()
            self.watch(topics)
        for broker in plan.stop:
            self.cluster.wait(f"broker {broker} has ended", partial(self.cluster.has_ended, broker))
        for broker in plan.unregisters - self.down:
            self.cluster.signal(broker, signal.SIGKILL)
            self.down.add(broker)

    def watch(self, topics: Sequence[JudgedTopic]) -> None:
        """Note which properties are violated now."""
        for topic in topics:
            held = self.admin.partition(topic.name)
            if held.leader < 0:
                topic.seen.add(LEADER)
            if len(held.isr) < min(topic.least, len(held.replicas)):
                topic.seen.add(MIN_ISR)

    def heal(self) -> None:
        """Start all brokers again, and let them catch up."""
        for broker in sorted(self.down):
            self.cluster.wait(f"broker {broker} has ended", partial(self.cluster.has_ended, broker))
            self.start(broker)

    # -----------------------------------------------------------------------------------------------------------------
    # Comparison

    def compare(self, plan: OperatorPlan, topics: Sequence[JudgedTopic], advices: dict[str, Situation], fault: bool) -> None:
        """Compare each partition of this run with its advice."""
        for topic in topics:
            advice = advices.get(f"{topic.name}-0")
            if advice is None:
                continue
            if not self.has_leader(topic.name):
                self.cluster.say(f"{topic.name} {topic.replicas} least {topic.least}: {self.admin.partition(topic.name)}")
            elected = self.elect_if_nobody_is(topic, advice)
            self.cluster.wait(f"{topic.name} has a leader", partial(self.has_leader, topic.name))
            read = set(self.cluster.clients.read_all(self.addresses(), topic.name, seconds=3))
            lost = [value for value in topic.acknowledged if value not in read]
            if lost and not elected:
                topic.seen.add(RECORDS)
            self.counts["partitions judged"] += 1
            self.counts[advice["verdict"]] += 1
            self.counts["with a kill" if fault else "without a fault"] += 1
            where = f"{plan.text}, {topic.name} {topic.replicas} least {topic.least}, fault {fault}: {advice['verdict']}"
            if lost and not elected and advice["verdict"] != "undecided" and RECORDS not in violated_of(advice):
                self.differences.append(f"{where}: {len(lost)} of {len(topic.acknowledged)} are lost")
            if not fault and advice["verdict"] != "undecided":
                self.differences += [f"{where}: {text}" for text in self.unlike(topic, advice)]

    def elect_if_nobody_is(self, topic: JudgedTopic, advice: Situation) -> bool:
        """Where the advice says that nobody may lead, and nobody does although all brokers are back, elect uncleanly."""
        said = [name for name in (CANDIDATES, LEADER) if name in violated_of(advice)]
        until = time.monotonic() + WATCHED
        while not (led := self.has_leader(topic.name)) and said and time.monotonic() < until:
            time.sleep(0.5)
        if CANDIDATES in said:
            self.counts[f"{CANDIDATES} is said, and {'not ' if led else ''}seen"] += 1
        if led or not said:
            return False
        self.counts["nobody leads for good"] += 1
        self.admin.elect(ElectionKind.UNCLEAN.name, [(topic.name, 0)])
        return True

    def unlike(self, topic: JudgedTopic, advice: Situation) -> list[str]:
        """Return what was seen without a fault that the advice does not say; count what it says."""
        for name, harm in advice["harm"].items():
            if not harm["faults"] and name != CANDIDATES:
                self.counts[f"{name} is said, and {'seen' if name in topic.seen else 'not seen'}"] += 1
        return [f"{name} is violated" for name in sorted(topic.seen - {RECORDS}) if [] not in violated_of(advice).get(name, [])]


def violated_of(advice: Situation) -> dict[str, list[list[str]]]:
    """Return the faults that violate each property with the plan."""
    return {name: [one["faults"] for one in found] for name, found in advice["with_the_plan"]["violated"].items()}


def finding(version: str, runs: int, seed: int) -> bool:
    """Make the runs; return whether nothing differs."""
    with KRaftCluster(version, SETTINGS) as cluster:
        admin = cluster.start_all(*BROKERS)
        judge = AdvisedCluster(cluster, admin, Random(seed))
        for number in range(runs):
            cluster.say(f"run {number}")
            judge.run(number)
        print("\n".join(f"{count:>5} {what}" for what, count in judge.counts.items()))
        print("\n".join(judge.differences) or "nothing differs from the advice")
        return not judge.differences and bool(judge.counts["partitions judged"])


def main(arguments: Sequence[str]) -> None:
    """Judge advice."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kafka", choices=VERSIONS, default=NEWEST)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    show(lambda: finding(options.kafka, options.runs, options.seed))


if __name__ == "__main__":
    main(sys.argv[1:])
