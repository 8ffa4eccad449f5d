"""Breaks the *model* in every small way, and shows which property notices: `make spec-mutants`.

python -m tests.mutants.spec                  all mutants of zookeeper/fixed, half an hour to two on one core
python -m tests.mutants.spec --states 100000  also at bounds of so many states
python -m tests.mutants.spec --list           the mutants, without running them

A mutant is `zookeeper/fixed` with one guard of a rule or row left out, one comparison weakened by one, or one write of an effect
left out, in any function that it uses. All of them are compiled at once (woven.py). Each is searched at ever larger bounds until a
property is violated or a step cannot be executed. If the graph of states is everywhere that of the model itself, the mutant
changes nothing. Otherwise it lives: no property notices it, and REASONS says why, or nobody knows.

What was found is kept (spec_mutants.json) and told (SPEC.md). A run that was stopped goes on where it was; if the model is another
by now, it begins anew.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import hashlib
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from kafka_spec.model_check.budget import Budget
from kafka_spec.model_check.code.program import Program
from kafka_spec.model_check.exploration import EngineError, Exploration
from kafka_spec.model_check.interpreter.interpreter import Interpreter
from kafka_spec.model_check.llvm.machine_code import KNOWN, Tier
from kafka_spec.model_check.record.actions import Actions
from kafka_spec.model_check.record.layout import Layout
from kafka_spec.model_check.search import embedded
from kafka_spec.spec.language import source_of
from kafka_spec.spec.vocabulary.table import Constants, Property, Spec, SpecError
from kafka_spec.spec.zookeeper.fixed import FIXED
from kafka_spec.spec.zookeeper.goal_models import LOGS_REACHED, REACHED
from tests.mutants.woven import MUTANT, Reach, Woven

HERE = Path(__file__).parent
PAGE, KEPT = HERE / "SPEC.md", HERE / "spec_mutants.json"
NAMED = (
    "first_look", "bounce", "deletion", "lost_reply", "lone_replica", "lost_request", "late_stop_of_deletion", "reassigned",
    "lossy", "deletion_fails", "shutdown", "deletion_disabled", "restart_unseen", "three_crash", "unanswered_expansion",
    "reassigned_twice", "reassigned_with_shrink", "crash_and_expiry", "deletion_and_expiry", "reassigned_bounce", "late_answer",
    "log_goals", "deletion_and_bounce", "reassigned_crash", "two_expiries", "shutdown_again", "reassigned_expiry",
    "deletion_and_crash", "late_stop", "late_fetch", "preferred", "everyday", "failed_failover", "re_elected_leader",
    "expired_leader",
)  # fmt: skip
"""The bound sets at which mutants are searched, together with every kind of event."""
PARTS: dict[str, dict[str, int]] = {
    "part of late_fetch": {"late_fetches": 1, "records": 1, "isr_shrinks": 1},
    "part of failed_failover": {"settled": 0, "failed_failovers": 1},
    "part of shutdown_again": {"controlled_shutdowns": 1, "shutdown_retries": 1},
    "part of min_isr": {"min_isr": 2, "records": 1, "isr_shrinks": 1},
    "part of unclean": {"unclean": 1, "crashes": 1, "isr_shrinks": 1},
    "part of preferred": {"preferred_elections": 1, "expiries": 1},
    "part of records": {"crashes": 1, "records": 1, "isr_shrinks": 1},
    "part of expired_leader": {"expiries": 1, "records": 1, "isr_shrinks": 1},
    "part of reassigned_records": {"replicas": 1, "reassignments": 1, "records": 1},
    "part of deletion_and_crash": {"deletions": 1, "recreations": 1, "crashes": 1},
    "part of late_stop": {"controlled_shutdowns": 1, "late_stops": 1},
    "part of deletion_fails": {"deletions": 1, "deletion_errors": 1, "crashes": 1},
}
"""Smaller bounds within a named set: what they notice, that set notices too, only later."""
GOALS = {"log_goals": LOGS_REACHED.properties, "goals": REACHED.properties}
"""What must be reached besides, by bound set."""
PATIENCE = 120.0
"""The most seconds that a search takes."""

REASONS: tuple[tuple[str, str], ...] = (
    (
        r"s\.history\.|: without note_",
        "It is written for the properties alone: without it they claim less, so they cannot notice.",
    ),
    (
        r"election\.is_isr_candidate|(?:gates|fencing)\.answer_to_fetch_epoch|follower_is_alive_in_cache",
        "It is a case that breaks nothing by itself: KAFKA-7395, or isr-candidate-not-alive (spec/zookeeper/cases).",
    ),
    (
        r"^(Exit|Restart|Crash|Bounce|LossyCrash|LoseConnection|NoticeExpiry|Write|ShrinkIsr|ShrinkIsrUnanswered|ControlledShutdown|ControlledShutdownAgain|"
        r"PreferredElection|CancelReassignment|FailToDelete|GiveUp)\b|^environment\.(?!end_process)|^isr\.(follower_lags|drop_from_isr|shrink_)|"
        r"^reassigning\.|^requested\.|^deletion\.ask|session_is_over",
        "It changes what faults, clients and operators do, or when. No property claims anything of them; fewer of their steps "
        "break nothing, and the additional ones are survived.",
    ),
    (
        r"(end_process|forget_controller|forget_replica|make_follower|make_leader|forget_log_ends|stop_fetching|delete_state|"
        r"adopt_target|elect_leader_of_target|extend_assignment).*: without .*( = |reset|forget_|fire|pop_first)|"
        r"^(zookeeper\.end_session|broker_changes\.notice_broker_change: without .*= 0|stages\..*rejoining = NO)",
        "It forgets what is overwritten before it is read again: the states differ, and go on alike.",
    ),
    (
        r"is_news|request_is_taken|request_is_leader_and_isr|_have_changed|_has_changed|a_topic_is_new|there_is_something|log_does_not_match|"
        r"isr_write_is_unanswered|is_handling_no_event|broker_changes\.|replica_may_be_stopped|topic_cannot_be_deleted|"
        r"IgnoreStopReplica|follower_has_stopped|a_request_arrives|has_bounced|topics\.|named_leader_is_alive|zookeeper_can_be_read|"
        r"a_reassignment_runs",
        "The step can be taken more often. Then it does again what was done, or an event is handled that finds nothing.",
    ),
    (
        r"^election\.|^stages\.|^failover\.|^partition_rows\.|write_isr_without_replica|replica_rows\.|put_replicas_online|^reassignment\.|"
        r"^deletion|resignation\.|^steps\.|all_have_a_leader_epoch",
        "The controller chooses another replica that may lead, tells somebody more or later, or learns it in another event: a "
        "later step of it comes to the same.",
    ),
    (
        r"^late_(answer|fetch|stop)\.|Late(Answer|Fetch|Stop)",
        "It is about a request or an answer that arrives late. At these bounds what that does, or what refuses it, is done "
        "otherwise, too.",
    ),
    (
        r"^fetching\.|^isr\.|^(?:gates|fencing)\.|ExpandIsr|Fetch|TruncateToLeader|^leader_and_isr\.|^log\.|^requests\.|^network\.|^zookeeper\.",
        "At these bounds another guard of the same step, or of the one before, decides the same.",
    ),
)
"""Why mutants live, by class, as far as it is known: a pattern of their names, and the reason. The first that fits counts."""


@dataclass(frozen=True)
class Family:
    """A bound set with the search of the model itself, which holds there."""

    name: str
    bounds: dict[str, int]
    healthy: Exploration


def search(spec: Spec, name: str, bounds: dict[str, int], states: int | None) -> Exploration:
    """Search a spec, as far as is reasonable."""
    claims = (*spec.properties, *GOALS.get(name, ()))
    with patch.object(embedded, "Interpreter", _world), patch.object(embedded, "Program", _program):
        return embedded.explore(spec, bounds, properties=claims, budget=Budget(seconds=PATIENCE, max_states=states))


_worlds: dict[str, tuple[Interpreter, dict[str, Program]]] = {}
"""For each set of bounds but for the mutant: the world and its program, in which only the number of the mutant changes."""


def _world(spec: Spec, bounds: dict[str, int]) -> Interpreter:
    key = repr({**bounds, MUTANT: 0})
    if key not in _worlds:
        _worlds[key] = Interpreter(spec, bounds), {}
    world = _worlds[key][0]
    world.k.mutant = bounds[MUTANT]
    return world


def _program(spec: Spec, layout: Layout, actions: Actions, claims: Sequence[Property], k: Constants, *options: Any) -> Program:
    (programs,) = [programs for world, programs in _worlds.values() if world.k is k]
    if "" not in programs:
        programs[""] = Program(spec, layout, actions, claims, k, tier=Tier.FAST)
        assert programs[""].loaded.tier == Tier.FAST, "there is code for one mutant only, and this search is for all"
    values = programs[""].loaded.engine.get_global_value_address(KNOWN)
    ctypes.c_int64.from_address(values + 8 * list(vars(k)).index(MUTANT)).value = k.mutant
    return programs[""]


def bounds_of(spec: Spec) -> dict[str, dict[str, int]]:
    """Return all bounds at which mutants are searched, by name."""
    sets = {chosen.name: dict(chosen.values) for chosen in spec.bound_sets}
    base = {**sets["everyday"], "crashes": 0, "bounces": 0, "expiries": 0}
    return {name: sets[name] for name in NAMED} | {name: {**base, **values} for name, values in PARTS.items()}


def families(spec: Spec, states: int) -> list[Family]:
    """Return the bounds at which the model has at most so many states, the smallest first."""
    found = []
    for name, bounds in bounds_of(spec).items():
        healthy = search(spec, name, bounds, states)
        if healthy.complete and healthy.verdict != "holds":
            raise SystemExit(f"the model itself does not hold at {name}: {healthy.violated or healthy.stopped}")
        if healthy.complete:
            found.append(Family(name, bounds, healthy))
    return sorted(found, key=lambda family: family.healthy.distinct)


def try_at(family: Family, woven: Woven, number: int, one: dict[str, str]) -> dict[str, str]:
    """Search a mutant that nothing noticed yet at one more family; return its fate."""
    healthy = family.healthy
    try:
        result = search(woven.spec, family.name, {**family.bounds, MUTANT: number}, 10_000 + 3 * healthy.distinct)
    except (SpecError, EngineError) as error:
        kind = "error" if isinstance(error, SpecError) else "disagreement of engines"
        return {**one, "noticed": kind, "by": re.sub(r"<(\w+) with mutants[^>]*>", r"\1", str(error))[:120], "at": family.name}
    if result.violated:
        return {
            **one,
            "noticed": "property",
            "by": ", ".join(list(dict.fromkeys(one.partition("[")[0] for one in result.violated))[:3]),
            "at": family.name,
        }
    if not result.complete:
        return {"differs": f"{family.name}, where it has over {result.distinct:,} states", **one}
    return {"differs": family.name, **one} if result.digest != healthy.digest else one


def word_of(one: dict[str, str]) -> str:
    """Return the class of a fate."""
    return one.get("noticed") or ("alive" if "differs" in one else "changes nothing")


UNDECIDED = "Not decided: its graph grew to more than three times that of the model, and 10,000 states, before anything broke."


def reason_for(name: str, one: dict[str, str]) -> str:
    """Return why a mutant lives, if that is known."""
    if "where it has over" in one["differs"]:
        return UNDECIDED
    return next((reason for pattern, reason in REASONS if re.search(pattern, name)), "")


WORDS = ("property", "error", "changes nothing", "alive")


def page(fates: dict[str, dict[str, str]], done: list[str]) -> str:
    """Return the table of what is known about the mutants."""
    rows: dict[str, Counter[str]] = {}
    alive: dict[str, list[str]] = {}
    for name, one in fates.items():
        rows.setdefault(one["kind"], Counter())[word_of(one)] += 1
        if word_of(one) == "alive":
            alive.setdefault(reason_for(name, one), []).append(f"| {_cell(name)} | {one['differs']} |")
    total = sum(rows.values(), Counter())
    lines = [f"| {name} | {sum(of.values())} | " + " | ".join(str(of[word]) for word in WORDS) + " |" for name, of in rows.items()]
    lines.append(f"| all | {sum(total.values())} | " + " | ".join(str(total[word]) for word in WORDS) + " |")
    tables = []
    for reason, those in sorted(alive.items()):
        tables += ["", f"**{reason or 'Without a reason yet'}** ({len(those)})", "", "| alive | differs first at |", "|---|---|"]
        tables += those
    return "\n".join(
        [
            "# Mutants of the model",
            "",
            "`make spec-mutants` breaks `zookeeper/fixed` in every small way and searches at ever larger bounds. *property*: one",
            "is violated, or a goal not reached. *error*: a step cannot be executed, or two rows fit. *changes nothing*: at all",
            "bounds tried the graph of states is that of the model itself. *alive*: the graph differs somewhere, and nothing",
            "but the counts in the manifest notices; the reason is that of a class, not proved for each. `spec_mutants.json` has",
            "each mutant with its fate.",
            "",
            "| what is broken | mutants | " + " | ".join(WORDS) + " |",
            "|---|---|" + "---|" * len(WORDS),
            *lines,
            "",
            f"Noticed, of those that change something: {share(total)}.",
            "",
            f"Every mutant was searched at: {', '.join(done)}.",
            *tables,
            "",
        ]
    )


def share(total: Counter[str]) -> str:
    """Return the share of mutants that are noticed."""
    noticed = total["property"] + total["error"]
    return f"{noticed} of {noticed + total['alive']}, {noticed / max(1, noticed + total['alive']):.1%}"


def _cell(text: str) -> str:
    return f"`{text.replace('|', '/')}`"


def digest_of(woven: Woven) -> str:
    """Return a digest of the text of all rules, rows and claims: fates hold for this model."""
    functions = [*woven.texts, *(source_of(claim.predicate).text for claim in woven.spec.properties)]
    return hashlib.sha256("\n".join(functions).encode()).hexdigest()[:16]


def stored(fates: dict[str, dict[str, str]], done: list[str], model: str) -> str:
    """Return the text in which fates are kept, one on a line."""
    lines = ",\n".join(f" {json.dumps(name)}: {json.dumps(one)}" for name, one in sorted(fates.items()))
    return f'{{"model": "{model}",\n"done": {json.dumps(done)},\n"fates": {{\n{lines}\n}}}}\n'


def run_fresh(
    woven: Woven, fates: dict[str, dict[str, str]], done: list[str], known: list[Family], keep: Callable[[], None]
) -> None:
    """Search each mutant first at the smallest family that runs what it breaks."""
    reach, seen = Reach(FIXED), set[str]()
    for family in sorted(known, key=lambda one: one.name not in done):
        for number, mutant in enumerate(woven.mutants, 1):
            if mutant.name in seen or not reach.runs(mutant, family.healthy):
                continue
            seen.add(mutant.name)
            if family.name not in done and "noticed" not in fates[mutant.name]:
                fates[mutant.name] = try_at(family, woven, number, fates[mutant.name])
                gc.collect()
        keep()
        tell(family, fates)


def tell(family: Family, fates: dict[str, dict[str, str]]) -> None:
    """Print how many mutants are noticed by now."""
    words = Counter(map(word_of, fates.values()))
    sys.stdout.write(f"{family.name} ({family.healthy.distinct:,}): {', '.join(f'{words[w]} {w}' for w in WORDS)}\n")
    sys.stdout.flush()


def run(woven: Woven, fates: dict[str, dict[str, str]], done: list[str], states: int, keep: Callable[[], None]) -> None:
    """Search every mutant that nothing noticed at one family after the other, the smallest first."""
    reach = Reach(FIXED)
    known = families(woven.spec, states)
    sys.stdout.write(f"{len(woven.mutants)} mutants at {', '.join(f'{f.name} {f.healthy.distinct:,}' for f in known)}\n")
    run_fresh(woven, fates, done, known, keep)
    for family in (family for family in known if family.name not in done):
        for number, mutant in enumerate(woven.mutants, 1):
            one = fates[mutant.name]
            if "noticed" not in one and reach.may_differ(mutant, family.healthy):
                fates[mutant.name] = try_at(family, woven, number, one)
                gc.collect()  # a search holds reserved memory, and refers to itself
        done.append(family.name)
        keep()
        tell(family, fates)


def main() -> int:
    """Run mutants and write the table; the exit code is 1 if one lives without a reason, or fewer are noticed than before."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--states", type=int, default=30_000, metavar="N", help="bounds of at most N states of the model (30,000)")
    parser.add_argument("--list", action="store_true", help="only list the mutants")
    parser.add_argument("--page", action="store_true", help="only write the page anew")
    options = parser.parse_args()
    woven = Woven(FIXED)
    if options.list:
        sys.stdout.write("\n".join(f"{mutant.kind:<16} {mutant.name}" for mutant in woven.mutants) + "\n")
        return 0
    kept = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {"model": "", "done": [], "fates": {}}
    before = Counter(map(word_of, kept["fates"].values()))
    model = digest_of(woven)
    same = kept["model"] == model or options.page
    fates: dict[str, dict[str, str]] = kept["fates"] if same else {}
    done: list[str] = kept["done"] if same else []
    if not options.page:
        fates = {mutant.name: {"kind": mutant.kind, **fates.get(mutant.name, {})} for mutant in woven.mutants}
        run(woven, fates, done, options.states, lambda: KEPT.write_text(stored(fates, done, model), encoding="utf-8") and None)
    PAGE.write_text(page(fates, done), encoding="utf-8")
    now = Counter(map(word_of, fates.values()))
    sys.stdout.write(f"before: {share(before)}\nnow: {share(now)}\n")
    unexplained = [name for name, one in fates.items() if word_of(one) == "alive" and not reason_for(name, one)]
    sys.stdout.write("".join(f"no reason: {name}\n" for name in unexplained))
    return 1 if unexplained or now["property"] + now["error"] < before["property"] + before["error"] else 0


if __name__ == "__main__":
    sys.exit(main())
