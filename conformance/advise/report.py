"""Advice as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement
from typing import Any

from kafka_spec.conformance.advise.advising import CANDIDATES, FAULTS, LEADER, MIN_ISR, RECORDS, Advice, Advised, Faults, Margin
from kafka_spec.conformance.advise.causes import causes
from kafka_spec.conformance.advise.plans import WAITS_IN_WORDS
from kafka_spec.conformance.advise.situations import holders_of
from kafka_spec.conformance.advise.stories import story_of
from kafka_spec.conformance.metadata.bugs import pages
from kafka_spec.conformance.metadata.judge import shown
from kafka_spec.conformance.metadata.shapes import PartitionShape
from kafka_spec.model_check.exploration import Exploration
from kafka_spec.model_check.traces.counterexample import trace_of
from kafka_spec.spec.decisions.partition_change import ElectionKind
from kafka_spec.spec.vocabulary.table import Name, Spec
from kafka_spec.spec.vocabulary.trace import Trace

SCHEMA_VERSION = 1
WORST_FIRST = ("unsafe", "undecided", "safe")
HEADINGS = {"safe": "SAFE", "unsafe": "NOT SAFE", "undecided": "NOT DECIDED"}
EVENTS = {
    RECORDS: "a committed record is lost",
    LEADER: "no broker leads",
    CANDIDATES: "no replica may be elected any more",
    MIN_ISR: "the ISR is below min.insync.replicas",
}
ASSUMED = (
    "one record is committed; the ISR and the ELR hold it, and replicas outside hold nothing",
    "brokers that are not fenced run and have applied all metadata; fenced ones do not run, and may be started at any time",
    "each fault may happen at any moment, and so may each request, answer and metadata update that is on its way",
    "a kill ends a process, and its log stays; a power loss takes the end of its log that was not flushed, too",
    "a time-out lets the controller fence a broker that runs; a slow follower is one that its leader takes out of the ISR",
    "all brokers run the controller's release",
)
"""What the metadata does not say, and what the model makes of it."""
FAULTS_IN_WORDS = ("without a fault", "with any single fault", "with any 2 faults")
MOST_NAMED = 3
MOST_SITUATIONS = 20
"""The situations that a text shows; JSON has all."""


def text_of(advised: Advised) -> str:
    """Return the advice as text."""
    return "\n".join(_text(advised))


def _text(advised: Advised) -> Iterator[str]:
    yield f"{HEADINGS[advised.verdict]}: {advised.plan.text}, {WAITS_IN_WORDS[advised.plan.wait]}"
    yield f"  {advised.cluster}"
    touched = sum(len(advice.alike.partitions) for advice in advised.advices)
    situations = _many(len(advised.advices), "situation")
    if not advised.advices and not advised.not_modelled and not advised.notes:
        yield f"  it touches no partition{': ' if advised.plan.idle else ''}{advised.plan.idle}"
        return
    yield f"  it touches {_many(touched, 'partition')} in {situations}, searched {FAULTS_IN_WORDS[advised.faults]}"
    if advised.order:
        yield f"  order: {', '.join(_turn(broker, waits) for broker, waits in advised.order.items())}"
    yield from (f"  not decided: {name}: {reason}" for name, reason in sorted(advised.not_modelled.items()))
    yield from (f"  not decided: {note}" for note in advised.notes)
    worst_first = sorted(range(len(advised.advices)), key=lambda one: WORST_FIRST.index(advised.advices[one].verdict))
    for place in worst_first[:MOST_SITUATIONS]:
        yield ""
        yield from _situation(advised, advised.advices[place])
    if len(worst_first) > MOST_SITUATIONS:
        yield f"and {_many(len(worst_first) - MOST_SITUATIONS, 'situation')} more; --format json has all"
    yield ""
    yield "assumed, since the metadata does not say it"
    yield from (f"  {line}" for line in ASSUMED)
    if advised.writes == 0:
        yield "  clients write nothing meanwhile; --writes 1 lets them"
    else:
        yield "  clients write with acks=all; what they write counts as soon as it is committed"


def _situation(advised: Advised, advice: Advice) -> Iterator[str]:
    name, shape, ids = advice.alike.partitions[0]
    more = f" and {len(advice.alike.partitions) - 1:,} more" if len(advice.alike.partitions) > 1 else ""
    yield f"{HEADINGS[advice.verdict].lower()}: {name}{more}: {shown(shape)}; min.insync.replicas {advice.alike.least}"
    if advice.undecided and not advice.harm:
        yield f"  not decided: {advice.undecided}"
    yield f"  {'':<38} {'with the plan':<28} without it"
    for claim in advised.keep:
        yield f"  {EVENTS[claim]:<38} {_cell(claim, advice.planned, advised.faults):<28} {_without(claim, advice)}".rstrip()
    for claim, faults in advice.harm.items():
        yield f"  how {EVENTS[claim]}, {_with(faults)}"
        trace, spec = _trace(advice.planned.violated[claim][faults], claim)
        yield from (f"    {line}" for line in _story(trace, spec, shape, ids))
        for bug in causes(trace, spec):
            yield f"  by a known bug: {bug.name}: {bug.summary}"
            yield from (f"    {page}" for page in pages(bug.name))
    if advice.cure is not None:
        yield f"  safe {WAITS_IN_WORDS[advice.cure.wait]}{_missing(shape)}"
    elif advice.harm and advised.plan.waits:
        yield "  nothing that can be waited for makes it safe"
    if advised.plan.elects == ElectionKind.UNCLEAN and advice.verdict != "safe":
        yield f"  instead: {_instead(holders_of(shape))}"


def _turn(broker: int, waits: Sequence[str]) -> str:
    if not waits:
        return f"broker {broker}"
    named = ", ".join(waits[:MOST_NAMED]) + (", ..." if len(waits) > MOST_NAMED else "")
    return f"broker {broker} (once {named} {'are' if len(waits) > 1 else 'is'} in sync)"


def _instead(holders: Sequence[int]) -> str:
    if not holders:
        return "nothing says who holds what is committed; compare the ends of the logs, and start the longest first and alone"
    return f"start broker {' or '.join(map(str, holders))}, which {'hold' if len(holders) > 1 else 'holds'} what is committed"


def _missing(shape: PartitionShape) -> str:
    outside = [broker for broker in shape.replicas if broker not in shape.isr]
    return f"; now {', '.join(f'broker {one}' for one in outside)} {'are' if len(outside) > 1 else 'is'} not" if outside else ""


def _cell(claim: Name, margin: Margin, most: int) -> str:
    least = margin.least(claim)
    if least is not None:
        return "now" if least[1].findings[claim].states == 1 else _with(least[0])
    if claim == RECORDS and margin.untested:
        return "no broker ever leads"
    asked = 0 if claim == CANDIDATES else most
    if all(margin.knows(claim, faults) for faults in combinations_with_replacement(FAULTS, asked)):
        return f"not {FAULTS_IN_WORDS[asked]}"
    return "not searched to the end"


def _without(claim: Name, advice: Advice) -> str:
    """Return whether the same faults violate a property without the plan."""
    least = advice.planned.least(claim)
    if least is None:
        return ""
    if advice.before.falls(claim, least[0]):
        return "the same"
    if claim == RECORDS and advice.before.untested:
        return "no broker ever leads"
    return "not so" if (claim, least[0]) in advice.before.kept else "not searched to the end"


def _with(faults: Faults) -> str:
    return f"by {_many(len(faults), 'fault')}: {', '.join(FAULTS[one] for one in faults)}" if faults else "without a fault"


def _many(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _trace(result: Exploration, claim: Name) -> tuple[Trace, Spec]:
    trace = trace_of(result, claim)
    assert trace is not None
    return trace, result.spec


def _story(trace: Trace, spec: Spec, shape: PartitionShape, ids: tuple[int, ...]) -> Iterator[str]:
    number = 0
    for line in story_of(trace, spec, shape, ids):
        number += not line.startswith(" ")
        yield f"      {line}" if line.startswith(" ") else f"{number:>3}. {line}"


# ---------------------------------------------------------------------------------------------------------------------
# JSON


def json_of(advised: Advised) -> str:
    """Return the advice as JSON."""
    plain = {
        "schema_version": SCHEMA_VERSION,
        "verdict": advised.verdict,
        "plan": advised.plan.text,
        "wait": advised.plan.wait.name.lower(),
        "cluster": advised.cluster,
        "faults": advised.faults,
        "writes": advised.writes,
        "order": [{"broker": broker, "not_in_sync": list(waits)} for broker, waits in advised.order.items()],
        "assumed": list(ASSUMED),
        "not_decided": {**advised.not_modelled, **{f"note {place}": note for place, note in enumerate(advised.notes, 1)}},
        "situations": [_plain(advice) for advice in advised.advices],
    }
    return json.dumps(plain, indent=1)


def _plain(advice: Advice) -> dict[str, Any]:
    _, shape, ids = advice.alike.partitions[0]
    return {
        "verdict": advice.verdict,
        "partitions": [name for name, _, _ in advice.alike.partitions],
        "first": {"brokers": list(ids), **{name: value for name, value in shape._asdict().items() if value not in ((), 0)}},
        "min.insync.replicas": advice.alike.least,
        "with_the_plan": _margin(advice.planned),
        "without_it": _margin(advice.before),
        "harm": {
            claim: _harm(*_trace(advice.planned.violated[claim][faults], claim), faults, shape, ids)
            for claim, faults in advice.harm.items()
        },
        "undecided": advice.undecided or None,
        "safe_with_wait": advice.cure.wait.name.lower() if advice.cure is not None else None,
        "not_in_sync": sorted(set(shape.replicas) - set(shape.isr)),
        "hold_committed": list(holders_of(shape)),
    }


def _harm(trace: Trace, spec: Spec, faults: Faults, shape: PartitionShape, ids: tuple[int, ...]) -> dict[str, Any]:
    known = [bug.name for bug in causes(trace, spec)]
    return {"faults": list(faults), "story": list(_story(trace, spec, shape, ids)), "known_bugs": known}


def _margin(margin: Margin) -> dict[str, Any]:
    violated = {
        claim: [{"faults": list(faults), "states": result.findings[claim].states} for faults, result in found.items()]
        for claim, found in margin.violated.items()
    }
    return {"violated": violated, "states": margin.states, "stopped": margin.stopped or None}
