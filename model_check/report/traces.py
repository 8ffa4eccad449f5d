"""Traces as text: with every change, or a line for each step."""

from __future__ import annotations

from collections.abc import Iterable

from kafka_spec.spec.vocabulary.table import DEADLOCK, Property, Spec, first_line
from kafka_spec.spec.vocabulary.trace import MessageItem, Step, Trace


def trace_text(trace: Trace, spec: Spec, full: bool = False, reached: bool = False) -> str:
    """Return a trace as numbered steps, each with its changed fields (or, if `full`, with the whole state after it).

    `reached` says that the trace leads to a requested state; it matters if the trace does not show a property of the spec.
    """
    claim = _claim(trace, spec)
    reaches = reached or (claim is not None and claim.kind == "reachable")
    lines = [headline(trace, reaches)] + ([f"  {claim.summary}"] if claim else [])
    lines += ["", *step_lines(trace, full, claim)]
    if end := ending_note(trace, claim):
        lines += ["", f"  {end}"]
    elif trace.shows == DEADLOCK:
        lines += ["", *_stuck_lines(trace, spec)]
    elif claim is not None and not reaches:
        lines += ["", *_reason_lines(trace, spec)]
    return "\n".join(lines)


def step_lines(trace: Trace, full: bool = False, claim: Property | None = None) -> list[str]:
    """Return the numbered steps of a trace, of one that continues forever with the marks of the property that it shows."""
    lines = [f"  1. {trace.start.summary}", *(f"       {name} is {value}" for name, value in trace.start.shows)]
    lines += _state_lines(trace.start) if full else [f"       {c.path} = {c.shown[1]}  [{c.kept_by}]" for c in trace.start.written]
    for number, step in enumerate(trace.steps, 2):
        lines += [f"     -- {mark}" for mark in marks(trace, number - 2, claim)]
        lines.append(f"{number:>3}. {step.summary}")
        lines.append(f"     {step.action}")
        lines += [
            f"       fired    {f.machine}{list(f.entity)} {f.trigger}: {f.source} -> {f.target or 'refused'}" for f in step.fired
        ]
        lines += [f"       {name} is {value}" for name, value in step.shows]
        lines += [f"       received {message.shown}{_channel(message)}" for message in step.received]
        lines += [f"       sent     {message.shown}{_channel(message)}" for message in step.sent]
        if full:
            lines += _state_lines(step)
        else:
            lines += _changes(step, {message.channel for message in (*step.sent, *step.received)})
    return [*lines, *(f"     -- {mark}" for mark in marks(trace, len(trace.steps), claim))]


def _reason_lines(trace: Trace, spec: Spec) -> list[str]:
    """Return the condition that makes the property false at the end of a trace, and the values in it."""
    from kafka_spec.model_check.traces.explain import reasons  # imported here: it needs the extra of an engine

    return [f"     {reason.function} is false{reason.seen}: {reason.because}" for reason in reasons(trace, spec)]


def _stuck_lines(trace: Trace, spec: Spec) -> list[str]:
    """Return why no rule can fire at the end of a trace."""
    from kafka_spec.model_check.traces.explain import refusals  # imported here: it needs the extra of an engine

    rest = "if the protocol may rest here, name such states: Spec(final=a predicate of s and k)"
    if spec.final_states is not None:
        rest = f"the state is not final: not {spec.final_states.__name__} ({first_line(spec.final_states)})"
    return ["     no rule can fire:", *(f"       {rule}: {why}" for rule, why in refusals(trace, spec)), f"     {rest}"]


def story_text(trace: Trace, spec: Spec) -> str:
    """Return a trace as one line for each step."""
    lines = [f"      {headline(trace)}"]
    for number, step in enumerate((trace.start, *trace.steps), 1):
        lines.append(f"      {number:>3}. {step.summary}")
        lines += [f"           -- {mark}" for mark in marks(trace, number - 1, _claim(trace, spec))]
    if end := ending_note(trace, _claim(trace, spec)):
        lines.append(f"           {end}")
    return "\n".join(lines)


def _claim(trace: Trace, spec: Spec) -> Property | None:
    """Return the property of the spec that a trace shows, or None for a built-in one."""
    return spec.property_named(trace.shows)


def headline(trace: Trace, reached: bool = False) -> str:
    """Return a line that says what a trace shows."""
    if trace.lasso is None:
        which = "shortest " if trace.shortest else ""
        length = "1 state" if trace.states == 1 else f"{trace.states} states"
        return f"{trace.shows} is {'reached' if reached else 'violated'}: a {which}trace has {length}"
    end = f"into a cycle of {trace.cycle} steps" if trace.cycle else "to where nothing more need happen"
    return f"{trace.shows} is violated: a path of {trace.lasso.back + 1} states leads {end}"


def marks(trace: Trace, steps: int, claim: Property | None = None) -> list[str]:
    """Return the notes on the state after this many steps of a trace that continues forever."""
    lasso = trace.lasso
    begins = lasso is not None and steps == lasso.met and (claim is None or claim.when is not None)
    owed = ["here the antecedent is met"] if begins else []
    return owed + (["the cycle starts here"] if lasso is not None and trace.cycle and steps == lasso.back else [])


def ending_note(trace: Trace, claim: Property | None) -> str:
    """Return the note on the last state of a trace, or ""."""
    never = "never meets what is required"
    if claim is not None and claim.kind == "eventually always":
        never = "does not keep what is required"
    if trace.lasso is not None and trace.cycle:
        states = (trace.start, *trace.steps)
        again = states[-1].fingerprint == states[trace.lasso.back].fingerprint
        like = f"is state {trace.lasso.back + 1} again" if again else f"has the normal form of state {trace.lasso.back + 1}"
        return f"State {len(trace.steps) + 1} {like}. This cycle is fair to every rule of the protocol, and {never}."
    if trace.lasso is not None:
        return f"No step is enabled here that fairness asks for: it may stay so forever, and {never}."
    if claim is None or claim.kind != "recoverable":
        return ""
    return "From here no steps of the protocol alone lead to what is required."


def _channel(message: MessageItem) -> str:
    """Return the channel of a message, or "" if the channel has no index."""
    return f"  [{message.channel}]" if "[" in message.channel else ""


def _changes(step: Step, channels: Iterable[str]) -> list[str]:
    lines = []
    for change in step.changed:
        if change.path in channels:
            continue
        keeper = f"  [{change.kept_by}]" if change.kept_by else ""
        lines.append(f"       {change.path}: {change.shown[0]} -> {change.shown[1]}{keeper}")
    return lines


def _state_lines(step: Step) -> list[str]:
    return [f"       {path} = {value}" for path, value in step.state]
