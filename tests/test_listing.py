"""A rule that is declared but in no spec is an error that names it; each version lists the rules that it cannot reach."""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from examples import tutorial
from kafka_spec import spec as package
from kafka_spec.model_check.check import Expectation, check
from kafka_spec.model_check.report.plain import model_plain
from kafka_spec.model_check.report.text import model_text, result_text
from kafka_spec.model_check.search import embedded
from kafka_spec.spec.catalogue.models import MODELS
from kafka_spec.spec.kraft.planned import planned
from kafka_spec.spec.vocabulary.table import Rule, Spec, SpecError
from kafka_spec.spec.vocabulary.unlisted_rules import declared_in, refuse_unlisted
from kafka_spec.spec.zookeeper import environment
from kafka_spec.spec.zookeeper.fixed import DECISIONS, FIXED, NEEDS
from tests import sample_specs

Command = Callable[..., subprocess.CompletedProcess[str]]

HEAD = '''
"""A spec of somebody's own."""
from dataclasses import dataclass, replace
from kafka_spec.spec.language.domain import Range, field
from kafka_spec.spec.vocabulary.table import Rule, Spec

@dataclass
class Count:
    """A number."""
    n: int = field(Range(0, 3))

def more(s: Count) -> None:
    """Count."""
    s.n = min(3, s.n + 1)

def less(s: Count) -> None:
    """Count down."""
    s.n = max(0, s.n - 1)

UP = Rule("Up", "w", "", "", (more,))
DOWN = Rule("Down", "w", "", "", (less,))
'''


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, str], ModuleType]]:
    """Return a function that writes a module, imports it, and forgets it after the test."""
    monkeypatch.syspath_prepend(str(tmp_path))
    made: list[str] = []

    def write(name: str, text: str) -> ModuleType:
        (tmp_path / f"{name}.py").write_text(textwrap.dedent(text), encoding="utf-8")
        importlib.invalidate_caches()
        made.append(name)
        return importlib.import_module(name)

    yield write
    for name in made:
        sys.modules.pop(name, None)


def test_an_unlisted_rule_is_named(module: Callable[[str, str], ModuleType], inside: Command) -> None:
    """A rule that is declared but not listed is refused by `check` and `models`, which name it and its position."""
    module("mine_forgets", HEAD + 'SPEC = Spec("mine", "counts", Count, (UP,))\n')

    for command in ("check", "models", "trace"):
        run = inside(command, "mine_forgets:SPEC", "-q")
        assert run.returncode == 2, run.stdout
        assert "spec mine: rule Down is declared (mine_forgets.DOWN) and no spec lists it" in run.stderr


def test_forgotten_rules_are_found_in_lists(module: Callable[[str, str], ModuleType]) -> None:
    """A list of rules that no spec uses is reported like a single rule; a used list is not reported."""
    rules = 'RULES = (UP, DOWN)\nMORE = [Rule("Stay", "w", "", "", (less,))]\nBY_NAME = {"Stay": MORE[0]}\n'
    forgets = module("mine_lists", HEAD + rules + 'SPEC = Spec("mine", "counts", Count, RULES)\n')
    takes = module("mine_takes", HEAD + rules + 'SPEC = Spec("mine", "counts", Count, (*RULES, *MORE))\n')

    with pytest.raises(SpecError, match=r"rule Stay is declared \(mine_lists\.MORE\)"):
        refuse_unlisted(forgets.SPEC)
    refuse_unlisted(takes.SPEC)


def test_versions_of_one_family(module: Callable[[str, str], ModuleType]) -> None:
    """A version need not list rules that it replaces or drops; an omitted rule is named, even if the base has one of that name."""
    base = module("mine_base", HEAD + 'SPEC = Spec("base", "counts", Count, (UP, DOWN))\n')
    text = """
        from dataclasses import replace
        from mine_base import DOWN, SPEC as BASE, UP
        FASTER = replace(UP, summary="faster")
        SLOWER = replace(DOWN, summary="slower")
        SPEC = BASE.replacing("version", "another", rules=({rules}), without=({without}))
    """
    whole = module("mine_whole", text.format(rules="FASTER, SLOWER", without=""))
    forgets = module("mine_half", text.format(rules="FASTER,", without=""))
    drops = module("mine_drops", text.format(rules="FASTER,", without="'Down',").replace("SLOWER =", "del DOWN  #"))

    for spec in (base.SPEC, whole.SPEC, drops.SPEC, drops.SPEC.replacing("again", "a version of a version")):
        refuse_unlisted(spec)
    with pytest.raises(SpecError, match=r"spec version: rule Down is declared \(mine_half\.SLOWER\)"):
        refuse_unlisted(forgets.SPEC)


def test_several_specs_in_one_module(module: Callable[[str, str], ModuleType]) -> None:
    """A rule counts as listed if another spec of the module has it, before or after, by itself or in a tuple of specs."""
    text = (
        HEAD
        + 'ONE = Spec("one", "", Count, (UP,))\nALL = (ONE, Spec("two", "", Count, (DOWN,)))\nTHREE = ONE.replacing("three", "")\n'
    )
    mine = module("mine_several", text)

    for spec in (mine.ONE, mine.ALL[1], mine.THREE):
        refuse_unlisted(spec)


def test_modules_do_not_mix(module: Callable[[str, str], ModuleType]) -> None:
    """Imported rules need not be listed here, and rules of other modules with the same names do not count."""
    whole = module("mine_first", HEAD + 'SPEC = Spec("first", "", Count, (UP, DOWN))\n')
    forgets = module("mine_second", HEAD + 'SPEC = Spec("second", "", Count, (UP,))\n')
    borrows = module(
        "mine_third", 'from mine_second import *\nOWN = replace(DOWN, name="Own")\nSPEC = Spec("third", "", Count, (OWN,))\n'
    )

    refuse_unlisted(whole.SPEC)
    refuse_unlisted(borrows.SPEC)
    with pytest.raises(SpecError, match=r"rule Down is declared \(mine_second\.DOWN\)"):
        refuse_unlisted(forgets.SPEC)


@pytest.mark.parametrize("model", ["zookeeper/fixed", "zookeeper/era_0_10", "zookeeper/KAFKA-1738", "zookeeper/goals"])
def test_a_forgotten_rule_of_the_control_plane(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule that is declared in a module of the control plane and listed nowhere stops the check of every version."""
    exec("from dataclasses import replace as _replace\nREVIVE = _replace(RESTART, name='Revive')", vars(environment))
    made = vars(environment).pop("REVIVE")
    monkeypatch.setattr(environment, "REVIVE", made, raising=False)

    with pytest.raises(SpecError, match=r"rule Revive is declared \(kafka_spec\.spec\.zookeeper\.environment\.REVIVE\)"):
        check(MODELS[model])


def test_the_catalogue_forgets_nothing() -> None:
    """Every rule that any module of spec/ declares is in a model of the catalogue, or in one that is made for a plan."""
    models = (*MODELS.values(), planned(MODELS["kraft/fixed"]))
    listed = {id(rule) for spec in models for rule in (*spec.rules, spec.start)}
    found = 0
    for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        for name, rule in declared_in(importlib.import_module(info.name)):
            assert id(rule) in listed, f"{info.name}.{name}"
            found += 1

    assert found > 50
    for spec in (*MODELS.values(), tutorial.LOCK, *(toy for toy in vars(sample_specs).values() if isinstance(toy, Spec))):
        refuse_unlisted(spec)


def test_a_rule_knows_its_module() -> None:
    """A rule and a spec know the module that states them, also made by replace, replacing, or another part of the vocabulary."""
    rule = Rule("Here", "w", "", "", (environment.start_process,), environment.ANY_BROKER)
    assert {one.declared_in for one in (rule, replace(FIXED.rule("Crash")), FIXED.rule("Crash").without_guard("broker_runs"))} == {
        __name__
    }
    assert FIXED.rule("Crash").declared_in == environment.__name__
    assert FIXED.replacing("x", "y").declared_in == __name__ and FIXED.declared_in == "kafka_spec.spec.zookeeper.fixed"


def test_a_check_does_not_move_a_spec() -> None:
    """A check validates rules and spec again; they keep the name of their module, and the next check accepts them."""
    bounds = dict.fromkeys(FIXED.bounds, 0) | {"brokers": 1, "replicas": 1, "partitions": 1, "channel_depth": 4, "min_isr": 1}
    for _ in range(2):
        check(FIXED, bounds, engine="oracle")

    assert FIXED.declared_in == "kafka_spec.spec.zookeeper.fixed"
    assert FIXED.rule("Crash").declared_in == environment.__name__


# ---------------------------------------------------------------------------------------------------------------------
# Rules that a version cannot reach


def test_versions_list_what_they_cannot_reach() -> None:
    """Each version of the control plane lists exactly the rules that need another decision than it has taken."""
    for spec in (spec for spec in MODELS.values() if spec.name.startswith("zookeeper/")):
        decided = {decision.name: decision.value for decision in spec.decisions}
        assert set(spec.unreachable_rules) == {rule for rule, (decision, value) in NEEDS.items() if decided[decision] != value}
    assert set(NEEDS) <= {rule.name for rule in FIXED.rules}
    assert {decision for decision, _ in NEEDS.values()} <= {decision.name for decision in DECISIONS}


@pytest.mark.parametrize(
    ("model", "bounds"),
    [
        ("KAFKA-1096", "expiry"),
        ("KAFKA-6082-two-step-election", "expiry_at_the_beginning"),
        ("KAFKA-6082-unfenced-writes", "expiry"),
    ],
)
def test_what_is_listed_never_fires(model: str, bounds: str) -> None:
    """A rule that a version lists as unreachable never fires in it; one that only `fixed` lists fires in the version."""
    spec = MODELS[f"zookeeper/{model}"]
    values = spec.bound_values(next(one.values for one in spec.bound_sets if one.name == bounds))
    result = embedded.explore(spec, values, properties=())

    assert result.complete and result.reached_after_all == []
    assert all(result.fired[rule] for rule in set(FIXED.unreachable_rules) - set(spec.unreachable_rules))


def test_a_rule_that_is_wrongly_listed_is_told() -> None:
    """A check fails if a rule fires that its model lists as unreachable; results and `models` show the list."""
    spec: Any = replace(sample_specs.DOORS, unreachable_rules=("FindKey",))
    result = check(spec)

    assert Expectation().unmet(result) == ["rules that the model lists as unreachable fire: FindKey"]
    assert "FIRED, though the model lists it as unreachable" in result_text(result, {})
    assert "FindKey(), protocol; unreachable in this version\n" in model_text(spec)
    assert model_plain(spec)["unreachable_rules"] == ["FindKey"]
    assert Expectation().unmet(check(sample_specs.DOORS)) == []
