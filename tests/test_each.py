"""Properties with `each`: one claim for each binding, which says what claims by hand say, in every engine."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from conftest import Explore
from hypothesis import given, settings
from hypothesis import strategies as st
from test_tla import agree, by_tlc

from kafka_spec import MODELS
from kafka_spec.diagrams.tla.module import goal_name, spec_tla
from kafka_spec.model_check.budget import Budget
from kafka_spec.model_check.check import Expectation, check
from kafka_spec.model_check.exploration import Exploration
from kafka_spec.model_check.oracle import oracle
from kafka_spec.model_check.report.plain import model_plain, result_plain
from kafka_spec.model_check.report.text import properties_lines
from kafka_spec.model_check.search import embedded
from kafka_spec.model_check.traces.counterexample import trace_of
from kafka_spec.model_check.traces.explain import reasons
from kafka_spec.model_check.traces.walk import Walk
from kafka_spec.spec.language import parameters_of
from kafka_spec.spec.language.domain import ArrayOf, Bound, Member, Range, SpecError, field
from kafka_spec.spec.vocabulary.table import (
    BoundSet,
    Constants,
    Property,
    Rule,
    Spec,
    Symmetric,
    anywhere,
    invariant,
    leads_to,
    reachable,
    recoverable,
    step_invariant,
)

TOY = "a toy"
LAMPS = Bound("lamps", 1, 3, "lamps in the house")
LEVELS = Bound("levels", 1, 3, "how bright a lamp can be")
LAMP = {"lamp": LAMPS}


@dataclass
class House:
    """Lamps, each with its brightness; whether there is current."""

    lamps: list[int] = field(ArrayOf(Range(0, 3), LAMPS))
    current: int = field(Range(0, 1))


def current_can_return(s: House) -> bool:
    """There is no current."""
    return s.current == 0


def turn_current_on(s: House) -> None:
    """Current returns."""
    s.current = 1


def is_lit(s: House, lamp: int) -> bool:
    """The lamp shines."""
    return s.lamps[lamp] > 0


def there_is_current(s: House) -> bool:
    """There is current."""
    return s.current == 1


def can_be_brighter(s: House, k: Constants, lamp: int) -> bool:
    """Brighter is possible."""
    return s.current == 1 and s.lamps[lamp] < k.levels


def shine(s: House, lamp: int) -> None:
    """Shine brighter."""
    s.lamps[lamp] += 1


def is_dim(s: House, lamp: int) -> bool:
    """LEDs of this lamp shine at most at level 1."""
    return s.lamps[lamp] <= 1


def goes_on(before: House, after: House, lamp: int) -> bool:
    """The lamp was lit, or is now."""
    return before.lamps[lamp] + after.lamps[lamp] > 0


def stays(before: House, after: House, lamp: int) -> bool:
    """The lamp does not get darker."""
    return after.lamps[lamp] >= before.lamps[lamp]


def is_dark(s: House, lamp: int) -> bool:
    """The lamp does not shine."""
    return s.lamps[lamp] == 0


def is_bright(s: House, k: Constants, lamp: int) -> bool:
    """The lamp is as bright as it can be."""
    return s.lamps[lamp] == k.levels


RULES = (
    Rule("Connect", "a house", "current returns", TOY, (turn_current_on,), guards=(current_can_return,)),
    Rule("Shine", "a lamp", "{lamp} shines brighter", TOY, (shine,), {"lamp": Member(LAMPS)}, (can_be_brighter,)),
)
SIZES = (BoundSet("two", {"lamps": 2, "levels": 2}, "two lamps"),)


EACH = Spec(
    "each",
    "lamps",
    House,
    RULES,
    (
        invariant("Dim", is_dim, "lit lamps are dim", TOY, when=is_lit, each=LAMP),
        invariant("Powered", there_is_current, "no lamp is lit without current", TOY, when=is_lit, each=LAMP),
        step_invariant("Stays", stays, "no lamp gets darker", TOY, when=goes_on, each=LAMP),
        reachable("Bright", is_bright, "a lamp is bright", TOY, each=LAMP),
        recoverable("Recovers", is_bright, "lit lamps can be bright", TOY, when=is_lit, each=LAMP),
        leads_to("Lights", is_dark, is_bright, "all lamps are bright at last", TOY, each=LAMP),
    ),
    more_bounds=(LEVELS,),
    bound_sets=SIZES,
    final=anywhere,
)
TWO = dict(SIZES[0].values)

PREAMBLE = """
import dataclasses
from kafka_spec.spec.vocabulary.table import Constants
State = Constants = object
"""


def by_hand(spec: Spec, bounds: dict[str, int], folder: Path) -> Spec:
    """Return the spec with each use of `each` written out: in a file, a function for each binding that asks about that one."""
    lines, stated = [PREAMBLE], list[tuple[Property, str, str, str]]()
    for claim in spec.properties:
        names = list(claim.named_things)
        choices = [()] if not names else [(value,) for value in range(bounds[next(iter(claim.named_things.values())).name])]
        assert len(names) < 2, "more are written by hand below"
        for values in choices:
            functions = [
                (one, f"{one.__name__}_of_{claim.name}_{'_'.join(map(str, values))}_{role}")
                for role, one in (("then", claim.predicate), ("when", claim.when))
                if one is not None
            ]
            for function, name in functions:
                free = [given for given in parameters_of(function) if given not in names]
                given = [str(dict(zip(names, values, strict=True)).get(one, one)) for one in parameters_of(function)]
                lines += [f"from {function.__module__} import {function.__name__}", "", ""]
                lines += [f"def {name}({', '.join(free)}) -> bool:", f'    """{name}."""']
                lines += [f"    return {function.__name__}({', '.join(given)})", "", ""]
            shown = f"{claim.name}[{names[0]}={values[0]}]" if len(choices) > 1 else claim.name
            stated.append((claim, shown, functions[0][1], functions[1][1] if len(functions) > 1 else ""))
    file = folder / "written_out.py"
    file.write_text("\n".join(lines), encoding="utf-8")
    found = importlib.util.spec_from_file_location("written_out", file)
    assert found is not None and found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    claims = tuple(
        Property(shown, claim.kind, getattr(module, then), claim.summary, claim.reference, getattr(module, when) if when else None)
        for claim, shown, then, when in stated
    )
    return replace(spec, name="by hand", properties=claims)


def said(result: Exploration) -> tuple[Any, ...]:
    """Return all that a search says of its claims."""
    return result.claims, result.violated, result.findings, dict(+result.tested), result.untested, result.digest


def test_each_says_what_separate_claims_say(explore: Explore, tmp_path: Path) -> None:
    """Verdicts, traces and how often each claim was tested are those of claims by hand; Dim is violated for each lamp."""
    one, other = (explore(spec, TWO, everything=True) for spec in (EACH, by_hand(EACH, TWO, tmp_path)))

    assert said(one) == said(other)
    assert one.violated == ["Dim[lamp=0]", "Dim[lamp=1]"]
    assert all(
        one.tested[f"{name}[lamp={lamp}]"] for name in ("Dim", "Powered", "Stays", "Recovers", "Lights") for lamp in range(2)
    )


def test_a_number_says_how_many_things_there_are(explore: Explore, tmp_path: Path) -> None:
    """`each={"lamp": 2}` is what a bound of two lamps says, in each engine, in the export and in JSON."""
    counted = replace(EACH, name="counted", properties=tuple(replace(claim, each={"lamp": 2}) for claim in EACH.properties))
    one, other = (explore(spec, TWO, everything=True) for spec in (counted, EACH))

    assert said(one) == said(other) and len(one.violated) == 2
    assert EACH.property("Dim[lamp=1]").bindings == counted.property("Dim[lamp=1]").bindings
    assert counted.property_named("Dim[lamp=2]") is None
    assert model_plain(counted)["properties"][0]["each"] == {"lamp": 2}
    assert "\\A lamp \\in 0..1 :" in spec_tla(counted, "Counted")


@pytest.mark.parametrize("many", [0, -1, 1_001, True, 2.0, "2", Range(0, 1)])
def test_what_does_not_count_things_is_refused(many: Any) -> None:
    """Things are counted by a bound, or by a number from 1; the message says so."""
    with pytest.raises(SpecError, match="each with a bound, or with a number from 1 to 1,000, that says how many there are"):
        invariant("Dim", is_dim, "lit lamps are dim", TOY, each={"lamp": many})


@pytest.mark.parametrize("family", ["partitions_crash", "added"])
def test_the_control_plane_says_what_separate_claims_say(family: str, tmp_path: Path) -> None:
    """Every use of `each` in the control plane with two partitions: equal counts and findings by hand, some levels deep."""
    spec = MODELS["zookeeper/fixed"]
    (values,) = [some.values for some in spec.bound_sets if some.name == family]
    written = by_hand(spec, dict(values), tmp_path)
    assert len(written.properties) > len(spec.properties)
    (one, other), plain = (
        [explore(which, dict(values), budget=Budget(max_states=most)) for which in (spec, written)]
        for explore, most in ((embedded.explore, 20_000), (oracle.explore, 150))
    )

    assert said(one) == said(other) and said(plain[0]) == said(plain[1])
    assert said(one)[0] == said(plain[0])[0]


# ---------------------------------------------------------------------------------------------------------------------
# Random graphs: what each of two things says of each node is in the constants

NODES = 4


@dataclass
class Node:
    """Where in a graph somebody is."""

    at: int = field(Range(0, NODES - 1))


THINGS = Bound("things", 0, 2, "things")
THING = {"thing": THINGS}


def leads(s: Node, k: Any, to: int) -> bool:
    """There is an edge of the protocol."""
    return k.edges >> (4 * s.at + to) & 1 == 1


def fails(s: Node, k: Any, to: int) -> bool:
    """There is an edge of the fault."""
    return k.faults >> (4 * s.at + to) & 1 == 1


def go(s: Node, to: int) -> None:
    """Go there."""
    s.at = to


def asks(s: Node, k: Any, thing: int) -> bool:
    """The node meets the antecedent for this thing."""
    return k.asks >> (4 * thing + s.at) & 1 == 1


def meets(s: Node, k: Any, thing: int) -> bool:
    """The node meets the predicate for this thing."""
    return k.meets >> (4 * thing + s.at) & 1 == 1


def step_asks(before: Node, after: Node, k: Any, thing: int) -> bool:
    """The step begins where the antecedent is met."""
    return k.asks >> (4 * thing + before.at) & 1 == 1


def step_meets(before: Node, after: Node, k: Any, thing: int) -> bool:
    """The step ends where the predicate is met."""
    return k.meets >> (4 * thing + after.at) & 1 == 1


def asks_of_first(s: Node, k: Any) -> bool:
    """By hand."""
    return k.asks >> s.at & 1 == 1


def asks_of_second(s: Node, k: Any) -> bool:
    """By hand."""
    return k.asks >> (4 + s.at) & 1 == 1


def first_meets(s: Node, k: Any) -> bool:
    """By hand."""
    return k.meets >> s.at & 1 == 1


def second_meets(s: Node, k: Any) -> bool:
    """By hand."""
    return k.meets >> (4 + s.at) & 1 == 1


def step_asks_of_first(before: Node, after: Node, k: Any) -> bool:
    """By hand."""
    return k.asks >> before.at & 1 == 1


def step_asks_of_second(before: Node, after: Node, k: Any) -> bool:
    """By hand."""
    return k.asks >> (4 + before.at) & 1 == 1


def step_meets_first(before: Node, after: Node, k: Any) -> bool:
    """By hand."""
    return k.meets >> after.at & 1 == 1


def step_meets_second(before: Node, after: Node, k: Any) -> bool:
    """By hand."""
    return k.meets >> (4 + after.at) & 1 == 1


TO = {"to": Range(0, NODES - 1)}
GRAPH = Spec(
    "graph",
    "a graph of four nodes",
    Node,
    (
        Rule("Go", "world", "", "", (go,), TO, (leads,)),
        Rule("Fail", "world", "", "", (go,), TO, (fails,), kind="fault"),
    ),
    (
        invariant("Always", meets, "", when=asks, each=THING),
        step_invariant("Steps", step_meets, "", when=step_asks, each=THING),
        reachable("Goal", meets, "", each=THING),
        recoverable("Back", meets, "", when=asks, each=THING),
        leads_to("Leads", asks, meets, "", each=THING),
    ),
    more_bounds=(THINGS, *(Bound(name, 0, 2**16 - 1, "bits") for name in ("edges", "faults", "asks", "meets"))),
    final=anywhere,
)
WRITTEN = replace(
    GRAPH,
    properties=(
        invariant("Always[thing=0]", first_meets, "", when=asks_of_first),
        invariant("Always[thing=1]", second_meets, "", when=asks_of_second),
        step_invariant("Steps[thing=0]", step_meets_first, "", when=step_asks_of_first),
        step_invariant("Steps[thing=1]", step_meets_second, "", when=step_asks_of_second),
        reachable("Goal[thing=0]", first_meets, ""),
        reachable("Goal[thing=1]", second_meets, ""),
        recoverable("Back[thing=0]", first_meets, "", when=asks_of_first),
        recoverable("Back[thing=1]", second_meets, "", when=asks_of_second),
        leads_to("Leads[thing=0]", asks_of_first, first_meets, ""),
        leads_to("Leads[thing=1]", asks_of_second, second_meets, ""),
    ),
)
BITS = st.lists(st.integers(0, 15), max_size=6).map(lambda bits: sum(1 << bit for bit in set(bits)))
GRAPHS = st.fixed_dictionaries({"edges": BITS, "faults": st.just(0) | BITS, "asks": BITS, "meets": BITS})


@given(GRAPHS)
@settings(max_examples=30, deadline=None, derandomize=True, database=None)
def test_random_graphs(bounds: dict[str, int]) -> None:
    """On any small graph both engines say of each binding what claims by hand say, in all kinds of properties."""
    results = [
        explore(spec, {"things": 2, **bounds}, everything=True)
        for spec in (GRAPH, WRITTEN)
        for explore in (oracle.explore, embedded.explore)
    ]
    assert all(said(one) == said(results[0]) for one in results)
    for claim in ("Always", "Steps", "Goal", "Back", "Leads"):
        violated = {f"{claim}[thing={thing}]" in results[0].violated for thing in range(2)}
        assert results[0].verdict_of(claim) == ("violated" if True in violated else "holds")


def test_nothing_is_claimed_of_nothing(explore: Explore) -> None:
    """With a bound of 0 there is nothing to claim: that is reported as never tested, and a goal is not reached."""
    result = explore(GRAPH, {"things": 0, "edges": 2, "faults": 0, "asks": 255, "meets": 0}, everything=True)

    assert result.untested == ["Always", "Steps", "Back", "Leads"] and result.violated == ["Goal"]


# ---------------------------------------------------------------------------------------------------------------------
# Members that a search takes as interchangeable

ALIKE = replace(EACH, name="alike", normal_form=(Symmetric(LAMPS),))
STATES_AND_STEPS = tuple(claim for claim in EACH.properties if claim.kind not in ("recoverable", "leads-to"))


def test_interchangeable_things_are_judged_together(explore: Explore) -> None:
    """A search does not tell which is which: it judges one claim about all, violated or reached if it is so for any of them."""
    alike = replace(ALIKE, properties=STATES_AND_STEPS).in_normal_form()
    result, whole = explore(alike, TWO, everything=True), explore(replace(EACH, properties=STATES_AND_STEPS), TWO, everything=True)

    assert result.distinct < whole.distinct
    assert [name for name, _ in result.claims][:4] == ["Dim", "Powered", "Stays", "Bright"]
    for name, _ in whole.claims:
        assert result.verdict_of(name) == whole.verdict_of(name)
    assert result.violated == ["Dim"] and result.findings["Dim"].states == whole.findings["Dim[lamp=0]"].states


def test_a_comparison_with_all_states_knows_the_claims_of_both() -> None:
    """`--verify normal_form` compares the claim about all with that of each."""
    spec = replace(ALIKE, properties=STATES_AND_STEPS)
    assert check(spec, TWO, verify_normal_form=True).unreduced == check(spec, TWO, everything=True).distinct


@pytest.mark.parametrize(
    ("claim", "what"), [("Recovers", "asks for a path of each of the lamps"), ("Lights", "what is fair to each")]
)
def test_ways_of_interchangeable_things_are_refused(claim: str, what: str, explore: Explore) -> None:
    """Where a way begins with one of them, a search that renames them cannot say which it ends with."""
    with pytest.raises(SpecError, match=what):
        explore(replace(ALIKE, properties=(EACH.property(claim),)).in_normal_form(), TWO)


# ---------------------------------------------------------------------------------------------------------------------
# Names, expectations and reports


def test_names() -> None:
    """A claim is named with its binding, and found by that; where there is one binding, it has the property's name."""
    (first, second) = EACH.property("Dim").at(TWO)

    assert (first.name, second.name, first.stated) == ("Dim[lamp=0]", "Dim[lamp=1]", "Dim")
    assert EACH.property("Dim[lamp=1]") == second and EACH.property_named("Dim[lamp=3]") is None
    assert EACH.property_named("Dim[house=1]") is None and EACH.property_named("Dark") is None
    assert [claim.name for claim in EACH.property("Dim").at({"lamps": 1})] == ["Dim"]
    assert [claim.name for claim in invariant("Equal", are_equal, "", each=PAIR).at({"lamps": 2})] == [
        "Equal[one=0,other=0]", "Equal[one=0,other=1]", "Equal[one=1,other=0]", "Equal[one=1,other=1]",
    ]  # fmt: skip
    with pytest.raises(SpecError, match="property 'Dim\\[lamp=3\\]' is unknown"):
        EACH.property("Dim[lamp=3]")


PAIR = {"one": LAMPS, "other": LAMPS}


def are_equal(s: House, one: int, other: int) -> bool:
    """Two lamps are equally bright."""
    return s.lamps[one] == s.lamps[other]


def test_two_things(explore: Explore) -> None:
    """A claim may be about pairs: violated for those that differ."""
    spec = replace(EACH, properties=(invariant("Equal", are_equal, "lamps are equal", TOY, each=PAIR),))

    assert explore(spec, TWO, everything=True).violated == ["Equal[one=0,other=1]", "Equal[one=1,other=0]"]


def test_one_claim_may_be_checked_alone() -> None:
    """A check may name a property or one of its claims; the others are not judged."""
    assert check(EACH, properties=["Dim[lamp=1]"]).violated == ["Dim[lamp=1]"]
    assert check(EACH, properties=["Dim"], everything=True).violated == ["Dim[lamp=0]", "Dim[lamp=1]"]


@pytest.mark.parametrize(
    ("traces", "wrong"),
    [
        ({"Dim": 4}, ""),
        ({"Dim[lamp=0]": 4, "Dim[lamp=1]": 4}, ""),
        ({"Dim": 5}, "Dim: the counterexample has 4 states, expected 5"),
        ({"Dim[lamp=0]": 4}, "Dim[lamp=1] is violated, too, in 4 states; say so in traces"),
    ],
)
def test_expectations_name_a_property_or_its_claims(traces: dict[str, int], wrong: str) -> None:
    """The name of a property stands for all its claims."""
    found = Expectation("violated", traces=traces).unmet(check(EACH, everything=True))

    assert found == ([wrong] if wrong else [])


def test_claims_that_differ_must_be_named() -> None:
    """Where the claims of a property differ, its name says too little; reports then have a line for each."""
    result = check(FIRST_IS_BRIGHTER, everything=True)

    assert Expectation("violated", traces={"Dim": 4}).unmet(result) == [
        "Dim: its bindings differ (Dim[lamp=0] 4, Dim[lamp=1] no counterexample); name them in traces"
    ]
    assert Expectation("violated", traces={"Dim[lamp=0]": 4}).unmet(result) == []
    assert [line.split()[:4] for line in properties_lines(result)][1:4] == [
        ["Dim[lamp=0]", "invariant", "violated", "4"],
        ["Dim[lamp=1]", "invariant", "holds", "-"],
        ["Powered", "invariant", "holds", "-"],
    ]


def first_can_be_brighter(s: House, k: Constants, lamp: int) -> bool:
    """Brighter is possible: the first lamp has more levels."""
    return s.current == 1 and s.lamps[lamp] < k.levels - lamp


FIRST_IS_BRIGHTER = replace(
    EACH,
    properties=(EACH.property("Dim"), EACH.property("Powered")),
    rules=(RULES[0], replace(RULES[1], guards=(first_can_be_brighter,))),
)


def test_reports_group_what_is_alike() -> None:
    """Claims of one property that are alike have one line, with the least of their counts; JSON has an object for each."""
    result = check(EACH, everything=True)
    (dim,) = [line for line in properties_lines(result) if line.strip().startswith("Dim")]

    assert dim.split()[:4] == ["Dim", "invariant", "violated", "4"] and dim.endswith("lit lamps are dim; each of 2: lamp=0, lamp=1")
    plain = json.loads(json.dumps(result_plain(result, {})))["properties"]
    assert [(one["name"], one["property"]) for one in plain][:2] == [("Dim[lamp=0]", "Dim"), ("Dim[lamp=1]", "Dim")]


def test_the_reason_is_that_of_the_thing() -> None:
    """A violation tells for which lamp the predicate is false, with its value."""
    trace = trace_of(check(EACH), "Dim[lamp=1]")
    assert trace is not None
    (first,) = reasons(trace, EACH)

    assert (first.function, first.values) == ("is_dim", (("lamp", "1"),))


def test_walks_judge_each() -> None:
    """Somebody who walks by hand sees a judgement of each claim."""
    walk = Walk(EACH, TWO)
    assert [one.name for one in walk.judgements()][:2] == ["Dim[lamp=0]", "Dim[lamp=1]"]


def test_tlc_agrees(tmp_path: Path) -> None:
    """TLC finds the same of the exported module, and reaches each lamp's goal."""
    agree(EACH, TWO, tmp_path)
    goals = [goal_name(claim) for claim in EACH.claims_at(TWO) if claim.kind == "reachable"]
    assert goals == ["NeverBright_0", "NeverBright_1"]
    assert set(goals) <= by_tlc(EACH, TWO, tmp_path, goals=True)[1]


def test_mistakes_are_refused() -> None:
    """Refused: `each` without counts or empty, a name that no function takes or that is taken, functions that need another name."""
    mistaken: Any = {"lamp": "3"}
    with pytest.raises(SpecError, match=r"property P: each is \{'lamp': '3'\}; write each=\{\"client\": CLIENTS\}"):
        invariant("P", is_dim, "summary", TOY, each=mistaken)
    with pytest.raises(SpecError, match="property P: each is empty"):
        invariant("P", there_is_current, "summary", TOY, each={})
    for claim in (invariant, reachable, recoverable):
        with pytest.raises(SpecError, match="property P: no function takes lamp; let one take that parameter, or drop `each`"):
            claim("P", there_is_current, "summary", TOY, each=LAMP)
    with pytest.raises(SpecError, match="property P: no function takes lamp"):
        leads_to("P", there_is_current, there_is_current, "summary", TOY, each=LAMP)
    with pytest.raises(SpecError, match="are_equal takes one, which property P does not have"):
        invariant("P", are_equal, "summary", TOY, each={"other": LAMPS})
    with pytest.raises(SpecError, match="property P: each names s"):
        invariant("P", is_dim, "summary", TOY, each={"s": LAMPS, "lamp": LAMPS})
    with pytest.raises(SpecError, match="property Dim is stated for each lamp; judge what its `at` returns"):
        assert EACH.property("Dim").parts


def test_a_function_that_changes_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A check reads the functions again: with another code the property has another verdict."""
    calm = replace(EACH, properties=(EACH.property("Stays"), EACH.property("Dim")))
    assert check(calm).verdict == "violated"

    monkeypatch.setattr(is_dim, "__code__", is_lit_or_dark.__code__)
    assert check(calm).verdict == "holds"


def is_lit_or_dark(s: House, lamp: int) -> bool:
    """Always."""
    return s.lamps[lamp] >= 0
