"""What a change does to a model: `kafka-spec what-if`, and the exercises on pull requests of Kafka."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import pytest
from conftest import ROOT, Command

from kafka_spec.model_check.budget import Budget
from kafka_spec.model_check.check import check
from kafka_spec.model_check.loading import module_of
from kafka_spec.model_check.what_if import ChangeComparison, WhatIf
from kafka_spec.spec.catalogue.models import MODELS
from kafka_spec.spec.kraft.eras import SUITE
from kafka_spec.spec.vocabulary.change import functions_of, patched, replacements, with_decision, without_guard
from kafka_spec.spec.vocabulary.table import Spec, SpecError

FIXED = MODELS["kraft/fixed"]
EXERCISES = ROOT / "examples" / "pull_requests"


def with_patch(spec: Spec, file: Path) -> Spec:
    """Return a spec with the functions of a file."""
    return patched(spec, replacements(spec, module_of(file, file.name)))


def compared(changed: Spec, sets: Iterable[str], spec: Spec = FIXED) -> ChangeComparison:
    """Return the comparison of a changed spec at bound sets."""
    bounds = {one.name: spec.bound_values(one.values) for one in spec.bound_sets}
    asked = WhatIf(spec, changed, Budget(600.0), 2)
    list(asked.at_sets({name: bounds[name] for name in sets}))
    return asked.comparison


def written(folder: Path, text: str) -> Path:
    """Write a patch, and return its file."""
    file = folder / "patch.py"
    file.write_text(text)
    return file


SAME = '''"""A patch that changes nothing."""
from kafka_spec.spec.kraft.fetching import last_epoch as last_epoch_now


def last_epoch(s, broker: int) -> int:
    """As it is."""
    return last_epoch_now(s, broker)
'''


@pytest.mark.parametrize("case", [case for case in SUITE.expressed if case.decides], ids=lambda case: case.name)
def test_a_decision_changed_is_the_case_that_decides_so(case) -> None:
    """`fixed` with the decisions of a case has the same graph as the model of the case."""
    changed = FIXED
    for decision, value in case.decides.items():
        changed = with_decision(changed, decision.name, value.name.lower())
    model = MODELS[f"kraft/{case.name}"]
    bounds = FIXED.bound_values({**FIXED.bound_sets[0].values, "reassignments": 1, "fences": 1, "records": 1})

    assert check(changed, bounds, everything=True).digest == check(model, bounds, everything=True).digest


def test_a_patch_that_changes_nothing_leaves_the_graph_as_it_is(tmp_path: Path) -> None:
    """Functions that call a replaced one are copies, and the graph is the same; the spec itself has the functions it had."""
    before = functions_of(FIXED)
    changed = with_patch(FIXED, written(tmp_path, SAME))

    found = compared(changed, ("fence", "proposal_dropped", "delete_and_reassign"))

    assert functions_of(FIXED) == before
    assert {one.__module__ for one in functions_of(changed) if one.__name__ == "last_epoch"} >= {"patch"}
    assert [one.differs for one in found.done] == [False, False, False]
    assert found.verdict == "no difference"


COUNTER = """
from dataclasses import dataclass
from kafka_spec import Bound, BoundSet, Range, Rule, Spec, field, invariant

TOP = Bound("top", 1, 9, "the top")


@dataclass
class Count:
    'A number.'

    x: int = field(Range(0, TOP))


def step_of(x: int) -> int:
    'One step.'
    return 1


def grow(s: Count) -> None:
    'Grow, by a local function that calls another one.'

    def more(by: int) -> int:
        'Add.'
        return by + step_of(by)

    s.x = more(s.x)


def limit(s: Count) -> int:
    'The largest number that is meant.'
    return 4


def below(s: Count) -> bool:
    'It may grow.'
    return s.x < limit(s)


def is_small(s: Count) -> bool:
    'It is small.'
    return s.x <= limit(s)


COUNTER = Spec(
    "counter",
    "it counts",
    Count,
    (Rule("Grow", "counter", "it grows", "", (grow,), {}, (below,)),),
    (invariant("Small", is_small, "it is small"),),
    bound_sets=(BoundSet("nine", {"top": 9}, "up to nine"),),
)
"""


def test_a_function_that_a_local_function_calls_is_replaced_too(tmp_path: Path, kafka_spec: Command) -> None:
    """What is replaced may be called by a function inside another one, of somebody's own module beside the patch."""
    (tmp_path / "counting.py").write_text(COUNTER)
    written(tmp_path, "def step_of(x: int) -> int:\n    'Three steps.'\n    return 3\n")
    result = kafka_spec("what-if", "counting:COUNTER", "--patch", "patch.py", cwd=tmp_path)

    assert result.returncode == 1, result.stderr
    assert "Small: 3 states at --bounds nine" in result.stdout


def test_a_guard_left_out_is_the_rule_without_it() -> None:
    """A guard is left out of the rules that have it, or of the one that is named, and of the rows of a machine."""
    everywhere = without_guard(FIXED, "fetches_from")
    one = without_guard(FIXED, "Fetch:fetches_from")

    assert [rule.name for rule, old in zip(everywhere.rules, FIXED.rules, strict=True) if rule != old] == [
        "Truncate", "Fetch", "DelayFetch",
    ]  # fmt: skip
    assert [rule.name for rule, old in zip(one.rules, FIXED.rules, strict=True) if rule != old] == ["Fetch"]
    zookeeper = MODELS["zookeeper/fixed"]
    guard = next(guard for machine in zookeeper.machines for row in machine.rows for guard in row.guards)
    changed = without_guard(zookeeper, guard.__name__)
    assert all(guard not in row.looks for machine in changed.machines for row in machine.rows)


def test_harm_is_what_the_model_without_the_change_satisfies() -> None:
    """A property that both violate is no harm; one that only the model without the change violates is fixed."""
    era = MODELS["kraft/elr-outside-replicas"]
    fixed = compared(with_decision(era, "elr_within_replicas", "YES"), ("three_behind",), era)
    worse = compared(with_decision(era, "fetch_topic_ids", "NO"), ("delete_and_reassign",), era)

    shown = next(case for case in SUITE.expressed if case.name == "elr-outside-replicas")
    broken = compared(with_decision(FIXED, "elr_within_replicas", "NO"), (shown.bounds,))
    closed = compared(with_decision(era, "elr_within_replicas", "YES"), (shown.bounds,), era)
    assert fixed.harm == {}
    assert "DeletedRecordsStayGone" in worse.harm
    assert set(shown.shows[0].violates) <= set(broken.harm)
    assert set(shown.shows[0].violates) <= set(closed.fixed)
    assert closed.verdict == "no harm"


LEASE = "from examples.lease import Service\n\n\ndef {name}(s: Service{more}) -> bool:\n    'Changed.'\n    return {answer}\n"


def test_a_goal_that_is_no_longer_reached_is_harm(tmp_path: Path, kafka_spec: Command) -> None:
    """A goal has no trace where it is not reached; what nothing tests any more, and rules that never fire, are named."""
    file = written(tmp_path, LEASE.format(name="is_free", more="", answer=False))
    result = kafka_spec("what-if", "examples.lease:FENCED", "--patch", str(file))

    assert result.returncode == 1, result.stderr
    assert "SecondClientWrites: no longer reached at --bounds two" in result.stdout
    assert "with the change nothing tests NoOldWrite" in result.stdout
    assert "with the change these rules never fire: Grant, RunOut, Write, Notice" in result.stdout


def test_what_the_change_hides_is_not_satisfied(tmp_path: Path) -> None:
    """Where nothing tests a property any more, or a bound prevents steps only with the change, there is no verdict."""
    idle = with_decision(FIXED, "elr", "NO")
    found = compared(idle, ("fence", "lossy"))
    assert found.hidden
    assert found.verdict in ("inconclusive", "harm")

    module = tmp_path / "cut_counter.py"
    module.write_text(COUNTER)
    spec = module_of(module, "counter").COUNTER
    more = with_patch(spec, written(tmp_path, "def below(s) -> bool:\n    'Always.'\n    return True\n"))
    asked = WhatIf(spec, more, Budget(600.0), properties=())
    (one,) = asked.at_sets({"four": spec.bound_values({"top": 4})})
    assert one.cut == ("Grow",)
    assert asked.comparison.verdict == "inconclusive"


def test_properties_judge_as_they_are(tmp_path: Path, kafka_spec: Command) -> None:
    """A patch of what a rule and a property call changes the rule alone; a patch of the property is refused."""
    (tmp_path / "counting.py").write_text(COUNTER)
    written(tmp_path, "def limit(s) -> int:\n    'A larger one.'\n    return 6\n")
    found = kafka_spec("what-if", "counting:COUNTER", "--patch", "patch.py", cwd=tmp_path)
    refused = kafka_spec("what-if", "examples.lease:UNFENCED", "--patch", str(written(tmp_path, PROPERTY)))

    assert found.returncode == 1, found.stderr
    assert "Small: 6 states at --bounds nine" in found.stdout
    assert refused.returncode == 2
    assert "no_old_write is a property's; a change is judged by the properties as they are" in refused.stderr


PROPERTY = "def no_old_write(before, after) -> bool:\n    'Always.'\n    return True\n"


def test_a_search_that_does_not_end_is_no_verdict() -> None:
    """Bounds that were not searched to the end make the comparison inconclusive, whatever the others show."""
    changed = with_decision(FIXED, "bump_on_shrink", "WANTED")
    budget = Budget(600.0, memory_bytes=1)
    asked = WhatIf(FIXED, changed, budget)
    list(asked.at_sets({"fence": FIXED.bound_values(FIXED.bound_sets[0].values)}))

    assert asked.comparison.verdict == "inconclusive"
    assert asked.comparison.harm == {}


def test_a_cover_compares_all_bounds_up_to_a_sum() -> None:
    """From bounds at which a change does no harm, the cover finds those at which it does."""
    spec = MODELS["replication/kip_320"]
    base = spec.bound_values({"replicas": 2, "log_size": 1, "max_records": 1, "max_leader_epoch": 1})
    asked = WhatIf(spec, without_guard(spec, "follower_is_in_leaders_epoch"), Budget(600.0), 2)
    found = {one.name: one.harmed for one in asked.cover(base, 1)}

    assert asked.comparison.verdict == "harm"
    assert len(found) == 1 + len(base) and found["the base"] == ()
    assert found["max_records 2"] == found["replicas 3"] == ("WeakIsr", "StrongIsr")


ANSWERS = {
    "pr_11136": (("proposal_dropped", "fence"), "harm", {"CandidatesHoldCommitted": 9}),
    "pr_14457": (("proposal_dropped",), "harm", {"LogMatch": 7, "CandidatesHoldCommitted": 9}),
    "pr_23024": (("two_fences", "proposal_dropped", "rejoin_lossy", "lossy_and_fence"), "no harm", {}),
    "pr_14170": (
        ("three_behind",),
        "harm",
        {
            "ChangesHaveTheirEpochs": 2,
            "Recovers": 7,
            "ProposalsAreValid": 8,
            "ProposalsSettle": 12,
            "RecordsAreCommitted": 14,
        },
    ),
    "pr_21114_keeping_the_minimum": (("cancel_below_min_isr", "three_behind"), "no difference", {}),  # `fixed` waits longer
}
"""For each patch bounds, the verdict there, and the states of the shortest trace of each harmed property."""
DECIDED = {
    ("reassignment_completion", "ADDED_IN_ISR"): (("three_behind",), "harm", {"ReassignmentKeepsCandidates": 2}),
    ("reassignment_completion", "ADDED_IF_MANY"): (("four_reassign",), "harm", {"ReassignmentKeepsCandidates": 7}),
    ("high_watermark_needs_min_isr", "NO"): (
        ("fence", "lossy_and_fence"),
        "harm",
        {"CandidatesHoldCommitted": 4, "Committed": 8},
    ),
    ("fetch_epochs_compared", "NO"): (("shrink", "lossy_and_fence", "rejoin_lossy", "shutdown"), "no harm", {}),
    ("alter_epochs_compared", "NO"): (("rejoin_lossy",), "harm", {"CandidatesHoldCommitted": 8, "JoinsInItsProcess": 8}),
}
"""The same for each decision."""


@pytest.mark.parametrize("name", sorted(file.stem for file in EXERCISES.glob("pr_*.py")))
def test_an_exercise_has_its_answer(name: str) -> None:
    """The answer that the page gives on a pull request is what the comparison says."""
    sets, verdict, harm = ANSWERS[name]
    found = compared(with_patch(FIXED, EXERCISES / f"{name}.py"), sets)

    assert found.verdict == verdict
    assert {name: one.length(name) for name, one in found.harm.items()} == harm


@pytest.mark.parametrize(("name", "value"), DECIDED)
def test_an_exercise_that_decides_otherwise_has_its_answer(name: str, value: str) -> None:
    """The same for exercises that are one decision; the page has each command."""
    sets, verdict, harm = DECIDED[name, value]
    found = compared(with_decision(FIXED, name, value), sets)

    assert found.verdict == verdict
    assert {name: one.length(name) for name, one in found.harm.items()} == harm
    assert f"--decision {name}={value}" in (ROOT / "docs/kafka/what_if.md").read_text(encoding="utf-8")


def test_no_answer_excuses_what_a_case_shows() -> None:
    """A change is not said to do no harm at some bounds, while the manifest shows that it violates a property at others."""
    harmless = [decision for decision, (_, verdict, _) in DECIDED.items() if verdict == "no harm"]
    shown = {
        (decision.name, type(decision.value)(value).name): case.name
        for case in SUITE.expressed
        for decision, value in case.decides.items()
        if len(case.decides) == 1 and not case.breaks_nothing
    }

    assert harmless and ("reassignment_completion", "ADDED_IF_MANY") in shown
    assert not {shown.get(decision) for decision in harmless} - {None}


@pytest.mark.long
def test_a_smaller_fix_is_tried_on_the_model_of_its_bug() -> None:
    """KAFKA-19975 with another condition: the property that it violates holds, and no other fails."""
    spec = MODELS["kraft/KAFKA-19975"]
    found = compared(with_patch(spec, EXERCISES / "pr_21114_keeping_the_minimum.py"), ("four_reassign",), spec)

    assert found.verdict == "no harm"
    assert list(found.fixed) == ["ReassignmentKeepsCandidates"]


def test_a_fix_that_two_of_kafkas_tests_oppose_ends_what_its_finding_violates() -> None:
    """A leader that takes a smaller ISR from the log alone ends raised-min-isr-learned-late, and does `fixed` no harm."""
    patch, spec = EXERCISES / "shrink_waits_for_the_log.py", MODELS["kraft/raised-min-isr-learned-late"]
    found = compared(with_patch(spec, patch), ("raise_min_isr", "min_isr_and_back"), spec)
    also = compared(with_patch(FIXED, patch), ("shrink", "raise_min_isr"))

    assert (found.verdict, also.verdict) == ("no harm", "no harm")
    assert set(found.fixed) == {"LeaderCountsCandidates", "CandidatesHoldCommitted", "Committed"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "what-if needs a change"),
        (("--decision", "fetch_topic_id=NO"), "perhaps fetch_topic_ids"),
        (("--decision", "fetch_topic_ids"), "write NAME=VALUE"),
        (("--decision", "fetch_topic_ids=MAYBE"), "is one of YES, NO"),
        (("--decision", "fetch_topic_ids=YES"), "is YES already"),
        (("--without", "logs_agre"), "perhaps logs_agree"),
        (("--without", "Fetc:logs_agree"), "perhaps Fetch"),
        (("--patch", "missing.py"), "No such file or directory"),
        (("--decision", "fetch_topic_ids=NO", "--cover", "2"), "name them with --bounds SET"),
        (("--decision", "fetch_topic_ids=NO", "--bounds", "nothing"), "nothing"),
    ],
)
def test_what_is_refused(kafka_spec: Command, arguments: tuple[str, ...], message: str) -> None:
    """A change of nothing that the model has is refused; the message names what there is."""
    result = kafka_spec("what-if", "kraft/fixed", *arguments)

    assert result.returncode == 2
    assert message in result.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "def strange(s) -> bool:\n    'One of its own.'\n    return True\n",
            "none of its functions is one of the rules of",
        ),
        (
            "def last_epoch(s, k, broker: int) -> int:\n    'Other.'\n    return 0\n",
            "takes s, k, broker, and what it replaces s, broker",
        ),
        ("def last_epoch(s, broker: int) -> int:\n    'Other.'\n    return [0][0]\n", "patch.py:3"),
        ("1 / 0\n", "patch.py:1: ZeroDivisionError"),
        ('REPLACES = {"other": "last_epoch"}\n', "the file has no function of that name"),
    ],
)
def test_patches_that_are_refused(kafka_spec: Command, tmp_path: Path, text: str, message: str) -> None:
    """A patch that replaces nothing, or by what cannot stand there, is refused with the place."""
    result = kafka_spec("what-if", "kraft/fixed", "--patch", str(written(tmp_path, text)), "--bounds", "fence")

    assert result.returncode == 2, result.stdout
    assert message in result.stderr


def test_outputs_of_one_comparison(kafka_spec: Command, tmp_path: Path) -> None:
    """Text, JSON, the comment on a pull request and the page tell the same harm, and the exit code is 1."""
    files = {form: tmp_path / f"harm.{form}" for form in ("text", "json", "markdown", "html")}
    outputs = [part for form, file in files.items() for part in ("--output", f"{form}:{file}")]
    result = kafka_spec("what-if", "kraft/fixed", "--decision", "fetch_topic_ids=NO", "--bounds", "delete_and_reassign", *outputs)

    assert result.returncode == 1, result.stderr
    reported = json.loads(files["json"].read_text())
    assert reported["verdict"] == "harm"
    first = reported["harm"][0]
    assert (first["property"], first["states"], len(first["trace"]["steps"])) == ("DeletedRecordsStayGone", 6, 5)
    for form in ("text", "markdown", "html"):
        assert "DeletedRecordsStayGone" in files[form].read_text()
    assert "HARM: with the change DeletedRecordsStayGone" in result.stdout


def test_no_difference_is_exit_code_3(kafka_spec: Command) -> None:
    """A change that no search notices was not tested."""
    result = kafka_spec("what-if", "kraft/fixed", "--decision", "fetch_topic_ids=NO", "--bounds", "fence")

    assert result.returncode == 3
    assert "NOT TESTED" in result.stdout


def test_an_interrupted_comparison_is_inconclusive() -> None:
    """Ctrl-C reports what was compared so far, and ends with 3."""
    command = [sys.executable, "-m", "kafka_spec", "what-if", "kraft/fixed", "--decision", "bump_on_shrink=WANTED"]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, env=os.environ.copy())
    assert process.stdout is not None
    while "fence" not in process.stdout.readline():
        pass
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60)

    assert process.returncode in (1, 3)  # 1 if harm was found by then
    assert "bounds were searched to the end" in output


def test_a_spec_of_ones_own(kafka_spec: Command) -> None:
    """The command takes a specification of somebody's own, by module and name: without its fencing token the lease is unsafe."""
    result = kafka_spec("what-if", "examples.lease:FENCED", "--without", "token_is_not_old")

    assert result.returncode == 1, result.stderr
    assert "HARM: with the change NoOldWrite is violated" in result.stdout


@pytest.mark.parametrize("wrong", ["RULE", "guard"])
def test_errors_of_the_library_are_spec_errors(wrong: str) -> None:
    """The functions raise SpecError, as the library does everywhere."""
    with pytest.raises(SpecError, match="no guard is named"):
        without_guard(FIXED, wrong)
