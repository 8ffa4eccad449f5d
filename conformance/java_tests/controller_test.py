"""A trace of KRaft as a test in Kafka's idiom: a method of ReplicationControlManagerTest that fails until Kafka has the fix.

The test sends the controller the requests of the trace, and asserts after each what the partition is, up to the first at which the
model decides otherwise than `fixed`. There it asserts what `fixed` records. What brokers do between requests is left out.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kafka_spec.conformance.java_tests.controller_requests import REQUESTS, Lines, created, numbers
from kafka_spec.model_check.interpreter.interpreter import Binding, Interpreter
from kafka_spec.spec.decisions.partition_change import RecoveryState
from kafka_spec.spec.decisions.variants import Checked
from kafka_spec.spec.kraft.fixed import FIXED
from kafka_spec.spec.kraft.state import KRaft, PartitionRegistration
from kafka_spec.spec.language.domain import NONE, BrokerSet
from kafka_spec.spec.vocabulary.table import Rule, Spec, SpecError
from kafka_spec.spec.vocabulary.trace import Step, Trace

WIDTH = 100
"""The width of comments."""


@dataclass(frozen=True)
class TakenStep:
    """A step of a trace with its states, and the state to which it leads in `fixed`; None where `fixed` refuses it."""

    step: Step
    before: KRaft
    after: KRaft
    fixed: KRaft | None

    @property
    def controller_acts(self) -> bool:
        """Whether the step changes the partition or a registration."""
        before, after = ([(held.state, held.epoch) for held in s.controller.registrations] for s in (self.before, self.after))
        return bool(self.changes) or before != after

    @property
    def changes(self) -> dict[str, str]:
        """The assertions about the fields of the partition that this step changes."""
        return differences(self.before, self.after)

    @property
    def wanted(self) -> dict[str, str]:
        """The assertions that `fixed` keeps and this step does not."""
        return differences(self.after, self.before if self.fixed is None else self.fixed)


def controller_test(trace: Trace, spec: Spec) -> str:
    """Return a trace of a model of KRaft as a method of Kafka's class ReplicationControlManagerTest.

    Raises:
        SpecError: the model is not one of KRaft, a step before the difference is not one that this class can be sent, or the model
            decides as `fixed` does throughout.
    """
    if not spec.name.startswith("kraft/") or spec.state is not FIXED.state:
        raise SpecError(
            f"{spec.name} cannot be written as a test of Kafka's ReplicationControlManager: kraft/fixed can, and its cases and eras"
        )
    taken = list(steps(trace, spec))
    decisive = next((place for place, one in enumerate(taken) if one.wanted), None)
    if decisive is None:
        raise SpecError(
            f"in each step of this trace the controller changes the partition as kraft/fixed does: what is wrong in {spec.name}"
            " happens at a broker or to a registration, and a test of ReplicationControlManager cannot show it"
        )
    body = [
        *start(trace, spec),
        *(line for one in taken[:decisive] for line in ordinary(one, spec)),
        *deciding(taken[decisive], spec, label_of(trace, spec)),
    ]
    return "\n".join([*heading(trace, spec), *(f"    {line}" if line else "" for line in body), "}", ""])


def steps(trace: Trace, spec: Spec) -> Iterator[TakenStep]:
    """Yield the steps of a trace with their states."""
    bounds = dict(trace.bounds)
    world, fixed = Interpreter(spec, bounds), Interpreter(FIXED, bounds)
    chosen = tuple(value for _, value in trace.start.action.binding)
    before = next(state for binding, state in world.beginnings() if tuple(binding) == chosen)
    for step in trace.steps:
        binding = tuple(value for _, value in step.action.binding)
        after = world.apply(rule_named(spec, step.action.rule), before, binding)
        yield TakenStep(step, before, after, in_fixed(fixed, rule_named(FIXED, step.action.rule), before, binding))
        before = after


def rule_named(spec: Spec, name: str) -> Rule:
    """Return a rule of a model.

    Raises:
        SpecError: it has none of this name.
    """
    found = next((rule for rule in spec.rules if rule.name == name), None)
    if found is None:
        raise SpecError(f"{spec.name} has no rule {name}, so there is nothing that a test could ask Kafka for instead")
    return found


def in_fixed(world: Interpreter, rule: Rule, state: KRaft, binding: Binding) -> KRaft | None:
    """Return the state to which a step leads in `fixed`, None if `fixed` refuses it."""
    return world.apply(rule, state, binding) if any(tuple(one) == binding for one in world.enabled(rule, state)) else None


def differences(one: KRaft, other: KRaft) -> dict[str, str]:
    """Return an assertion for each field of the partition, by its name, in which the second state differs from the first."""
    before, after = asserted(one.controller.partition), asserted(other.controller.partition)
    return {name: after[name] for name in after if after[name] != before[name]}


def asserted(partition: PartitionRegistration) -> dict[str, str]:
    """Return an assertion for each field of a partition."""
    sets = {"isr": partition.isr, "elr": partition.elr, "addingReplicas": partition.adding, "removingReplicas": partition.removing}
    numbered = {"leader": partition.leader, "leaderEpoch": partition.leader_epoch, "partitionEpoch": partition.partition_epoch}
    last = [] if partition.last_known_leader == NONE else [partition.last_known_leader]
    arrays = {"replicas": list(partition.replicas), "lastKnownElr": last}
    recovery = f"LeaderRecoveryState.{RecoveryState(partition.recovery).name}"
    return {
        **{name: f"assertArrayEquals(new int[] {{{numbers(held)}}}, partition.{name});" for name, held in arrays.items()},
        **{
            name: f"assertEquals(Set.of({numbers(BrokerSet(held))}), Replicas.toSet(partition.{name}));"
            for name, held in sets.items()
        },
        **{name: f"assertEquals({held if held != NONE else 'NO_LEADER'}, partition.{name});" for name, held in numbered.items()},
        "leaderRecoveryState": f"assertEquals({recovery}, partition.leaderRecoveryState);",
    }


# ---------------------------------------------------------------------------------------------------------------------
# The parts of the method


def label_of(trace: Trace, spec: Spec) -> str:
    """Return what a failure names: the bug that the model is about, or the property that a change of `fixed` violates."""
    return trace.shows if spec.name == FIXED.name else spec.name.partition("/")[2]


def heading(trace: Trace, spec: Spec) -> Lines:
    """Return the lines above the body: what the test shows, and where it is from."""
    label, claim = label_of(trace, spec), spec.property_named(trace.shows)
    about = claim.summary if claim is not None and spec.name == FIXED.name else spec.summary
    shown = f"These requests are the shortest path to a violation of {trace.shows}, up to the first that is decided wrongly."
    said = [*textwrap.wrap(f"{label}: {about}.", WIDTH), "", *textwrap.wrap(shown, WIDTH)]
    name = "".join(part[:1].upper() + part[1:] for part in re.split(r"\W+", label))
    return ["/**", *(f" * {line}".rstrip() for line in said), " */", "@Test", f"public void test{name}() throws Exception {{"]


def start(trace: Trace, spec: Spec) -> Lines:
    """Return the lines that lead to the initial state, and assert it."""
    bounds, decided = dict(trace.bounds), {decision.name: decision.value for decision in spec.decisions}
    world = Interpreter(spec, bounds)
    (_, state), *_ = world.beginnings()
    isr = asserted(state.controller.partition)["isr"]
    return [
        *created(state, bounds["min_isr"], bounds["unclean"] == 1, decided["elr"] == Checked.YES),
        "PartitionRegistration partition = ctx.replicationControl.getPartition(topicId, 0);",
        isr,
    ]


def ordinary(one: TakenStep, spec: Spec) -> Lines:
    """Return the lines of a step in which the model decides as `fixed` does: none if the controller does nothing."""
    if one.step.action.rule not in REQUESTS and not one.controller_acts:
        return []
    return [*sent(one, spec), *([READ, *one.changes.values()] if one.changes else [])]


READ = "partition = ctx.replicationControl.getPartition(topicId, 0);"


def deciding(one: TakenStep, spec: Spec, label: str) -> Lines:
    """Return the lines of the step at which the model decides otherwise: what `fixed` records, and what the model does."""
    today = asserted(one.after.controller.partition)
    refused = ["// refused: nothing changes"] if one.fixed is None else []
    checks = [
        line
        for name, wanted in one.wanted.items()
        for line in (f"// today: {expected(today[name])}", wanted.removesuffix(");") + f', "{label}");')
    ]
    return [*sent(one, spec), *refused, READ, *checks]


def expected(assertion: str) -> str:
    """Return what an assertion expects."""
    found = re.match(r"assert(?:Array)?Equals\((.*), (?:Replicas\.toSet\()?partition\.", assertion)
    return re.sub(r"^(?:new int\[\] \{|Set\.of\()(.*)[})]$", r"[\1]", found[1]) if found else assertion


def sent(one: TakenStep, spec: Spec) -> Lines:
    """Return the lines that send a request.

    Raises:
        SpecError: ReplicationControlManager cannot be sent it.
    """
    action = one.step.action
    if action.rule not in REQUESTS:
        raise SpecError(
            f"{spec.name}: the step {action.rule} cannot be written as a request of a test of ReplicationControlManager; "
            f"these can: {', '.join(REQUESTS)}"
        )
    binding: Any = [value for _, value in action.binding]
    return [
        "",
        *textwrap.wrap(f"// {one.step.summary}", WIDTH, subsequent_indent="// "),
        *REQUESTS[action.rule](one.before, binding),
    ]
