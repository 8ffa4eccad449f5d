"""A trace of the model in the names of a cluster: its broker ids, and the partition after each change."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kafka_spec.conformance.metadata.judge import shown
from kafka_spec.conformance.metadata.shapes import PartitionShape
from kafka_spec.spec.brokers import Broker
from kafka_spec.spec.language.domain import NONE, BrokerSet, Subset
from kafka_spec.spec.vocabulary.table import Rule, Spec
from kafka_spec.spec.vocabulary.trace import Step, Trace

PARTITION = "controller.partition."


def story_of(trace: Trace, spec: Spec, shape: PartitionShape, ids: tuple[int, ...]) -> Iterator[str]:
    """Yield the steps of a trace from a partition on, after the first state, as lines."""
    if orderly := BrokerSet(dict(trace.start.action.binding)["orderly"]):
        yield f"as it is now; {_set(orderly, ids)} ended in order"
    for step in trace.steps:
        yield _in_names(spec.rule(step.action.rule), step, ids)
        changed = _changed(shape, step, ids)
        if changed != shape:
            shape = changed
            yield f"  -> {shown(shape)}"


def _in_names(rule: Rule, step: Step, ids: tuple[int, ...]) -> str:
    """Return what a step does, with the ids of brokers."""
    values = {}
    for name, value in step.action.binding:
        domain = rule.params[name]
        if isinstance(domain, Broker):
            values[name] = f"broker {ids[value]}"
        elif isinstance(domain, Subset):
            values[name] = _set(BrokerSet(value), ids)
        else:
            values[name] = str(value)
    return rule.summary.format_map(values)


def _set(brokers: BrokerSet, ids: tuple[int, ...]) -> str:
    return str(sorted(ids[one] for one in brokers))


def _changed(shape: PartitionShape, step: Step, ids: tuple[int, ...]) -> PartitionShape:
    """Return the partition after a step."""
    after: dict[str, Any] = {
        change.path.removeprefix(PARTITION): change.after for change in step.changed if change.path.startswith(PARTITION)
    }
    changes: dict[str, Any] = {}
    if "replicas" in after:
        changes["replicas"] = tuple(ids[one] for one in after["replicas"])
    for name in ("isr", "elr", "adding", "removing"):
        if name in after:
            changes[name] = tuple(sorted(ids[one] for one in BrokerSet(after[name])))
    if "leader" in after:
        changes["leader"] = NONE if after["leader"] == NONE else ids[after["leader"]]
    if "last_known_leader" in after:
        changes["last_known"] = () if after["last_known_leader"] == NONE else (ids[after["last_known_leader"]],)
    if "recovery" in after:
        changes["recovery"] = after["recovery"]
    return shape._replace(**changes)
