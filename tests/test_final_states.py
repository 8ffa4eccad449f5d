"""Deadlocks: states that are not final and have no step, which every check looks for unless the spec may rest anywhere."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from kafka_spec.model_check.check import check
from kafka_spec.model_check.manifest import judged_without, read_manifest
from kafka_spec.model_check.report.text import result_text
from kafka_spec.model_check.report.traces import trace_text
from kafka_spec.model_check.traces.counterexample import trace_of
from kafka_spec.spec.catalogue.models import MODELS
from kafka_spec.spec.language.domain import Range, SequenceOf, append, field
from kafka_spec.spec.vocabulary.table import Rule, Spec, SpecError, anywhere, invariant


@dataclass
class Walker:
    """Who climbs stairs of four steps by ones or twos."""

    place: int = field(Range(0, 4))
    seen: list[int] = field(SequenceOf(Range(0, 9), 2))


def is_below(s: Walker, step: int) -> bool:
    """There are so many steps left."""
    return s.place + step <= 4 and s.place != 3


def climb(s: Walker, step: int) -> None:
    """Climb."""
    s.place += step


def is_up(s: Walker) -> bool:
    """The walker is at the top."""
    return s.place == 4


def is_up_or_slips(s: Walker) -> bool:
    """The walker is at the top, says a predicate that cannot be evaluated."""
    return s.seen[0] == 0


def is_somewhere(s: Walker) -> bool:
    """The walker is on the stairs."""
    return s.place <= 4


def writes(s: Walker) -> bool:
    """A predicate that writes."""
    append(s.seen, 1)
    return True


CLIMB = Rule("Climb", "walker", "the walker climbs", "", (climb,), {"step": Range(1, 2)}, (is_below,))
SOMEWHERE = invariant("Somewhere", is_somewhere, "the walker is on the stairs")
STAIRS = Spec("stairs", "somebody climbs and may stop before the top", Walker, (CLIMB,), (SOMEWHERE,))
UP = STAIRS.replacing("stairs/up", "the top is where the walker may rest", final=is_up)
REST = STAIRS.replacing("stairs/rest", "the walker may rest anywhere", final=anywhere)


def test_a_check_looks_for_deadlocks_unless_the_spec_may_rest_anywhere() -> None:
    """A state without a step violates Deadlock where no final states are named; a spec that may rest anywhere has no such claim."""
    assert check(STAIRS, engine="both").violated == ["Deadlock"]
    assert check(REST, engine="both").verdict == "holds"
    assert "Deadlock" not in dict(check(REST).claims)


def test_final_states_are_judged_one_by_one() -> None:
    """Of two stuck states in one level only the one that is not final is told, whichever comes first; both engines find it."""
    for final, place in ((is_up, 3), (is_at_three, 4)):
        result = check(STAIRS.replacing("stairs/one", "one of two", final=final), engine="both", everything=True)
        trace = trace_of(result, "Deadlock")
        assert trace is not None
        assert dict(trace.steps[-1].state)["place"] == str(place)
    both = STAIRS.replacing("stairs/both", "both are final", final=is_three_or_four)
    assert check(both, engine="both").verdict == "holds"


def is_at_three(s: Walker) -> bool:
    """The walker is one step below the top."""
    return s.place == 3


def is_three_or_four(s: Walker) -> bool:
    """The walker is at the top, or one step below."""
    return s.place >= 3


def test_a_trace_says_why_each_rule_cannot_fire_and_why_the_state_is_not_final() -> None:
    """Its end names the guards that refuse, and the final states that this one is not among; or how to name them."""
    for spec, end in (
        (STAIRS, "     if the protocol may rest here, name such states: Spec(final=a predicate of s and k)"),
        (UP, "     the state is not final: not is_up (the walker is at the top)"),
    ):
        result = check(spec)
        trace = trace_of(result, "Deadlock")
        assert trace is not None
        why = "     no rule can fire:\n       Climb: not is_below (there are so many steps left)"
        assert trace_text(trace, spec).endswith(f"{why}\n{end}")
    assert "or only a bound prevents it, or it is final: the walker is at the top" in result_text(check(UP), {})


def test_deadlocks_are_judged_by_name_and_by_option() -> None:
    """Named properties are judged alone, with Deadlock if it is named; an option decides against the spec."""
    assert check(STAIRS, properties=["Somewhere"]).verdict == "holds"
    assert check(STAIRS, properties=["Somewhere", "Deadlock"]).violated == ["Deadlock"]
    assert check(STAIRS, deadlock=False).verdict == "holds"
    assert check(REST, deadlock=True).violated == ["Deadlock"]
    assert judged_without(STAIRS, ["Somewhere"]) == ("Deadlock",)
    assert judged_without(STAIRS, ["Deadlock"]) == judged_without(REST, []) == ("Somewhere",)
    with pytest.raises(SpecError, match="property 'Deadlok' is unknown"):
        judged_without(STAIRS, ["Deadlok"])


def test_a_manifest_judges_deadlocks_unless_it_says_otherwise(tmp_path: Path) -> None:
    """A named check finds a deadlock by default and without another property; `deadlock = false` and `without` turn it off."""
    options = {"": True, 'without = ["Somewhere"]': True, "deadlock = false": False, 'without = ["Deadlock"]': False}
    options |= {'properties = ["Somewhere"]': False, 'properties = ["Somewhere"]\ndeadlock = true': True}
    tables = [
        f'[[tool.kafka-spec.checks]]\nname = "{number}"\nmodel = "stairs"\nverdict = "holds"\n{option}\n'
        for number, option in enumerate(options)
    ]
    (tmp_path / "pyproject.toml").write_text("\n".join(tables))
    checks = read_manifest(tmp_path / "pyproject.toml", lambda name: STAIRS)

    assert [named.run().verdict == "violated" for named in checks] == list(options.values())


def test_final_states_that_cannot_be_evaluated_are_an_error() -> None:
    """Both engines raise the error of a predicate that faults in a stuck state, also where a check judges no deadlock."""
    spec = STAIRS.replacing("stairs/slips", "the predicate reads what is not there", final=is_up_or_slips)
    for judged in (True, False):
        for engine in ("oracle", "embedded"):
            with pytest.raises(SpecError, match="final: is_up_or_slips cannot be executed"):
                check(spec, engine=engine, deadlock=judged)  # type: ignore[arg-type]


def test_what_is_no_predicate_is_refused() -> None:
    """Final states that are a name, that write, or that need a parameter are refused where the spec is made."""
    for final, message in (
        ("top", "final is 'top'; name a predicate of s and k that holds where the protocol may rest, or anywhere"),
        (writes, "spec bad: final: guard writes writes"),
        (is_below, "is_below takes step, which spec bad: final does not have"),
    ):
        with pytest.raises(SpecError, match=message):
            Spec("bad", "its final states are wrong", Walker, (CLIMB,), final=final)  # type: ignore[arg-type]


def test_kafkas_models_rest_anywhere() -> None:
    """Kafka's models say once for each family that they may rest; what they must come to is claimed by their properties."""
    assert {spec.checks_deadlock for spec in MODELS.values()} == {False}
