"""Cases that once gave a false verdict: each is now refused, or has the right verdict.

Caches that ignored the origin of their code, integers that compiled code reads differently from Python, functions that pass for
others, inconsistent counts.
"""

from __future__ import annotations

import enum
import functools
import hashlib
import importlib.util
import itertools
import operator as python_operator
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from os.path import commonpath
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from conftest import ROOT, Command

from kafka_spec.model_check.budget import Budget
from kafka_spec.model_check.check import check
from kafka_spec.model_check.code.program import Program
from kafka_spec.model_check.exploration import EngineError, Exploration
from kafka_spec.model_check.interpreter.interpreter import Interpreter
from kafka_spec.model_check.llvm.machine_code import Tier
from kafka_spec.model_check.oracle import oracle
from kafka_spec.model_check.record.layout import Layout
from kafka_spec.model_check.search import embedded
from kafka_spec.model_check.search.shards import Shard
from kafka_spec.spec.catalogue.models import MODELS
from kafka_spec.spec.language.domain import ArrayOf, Bound, BrokerSet, OneOf, Range, SequenceOf, SetOf, SpecError, append, field
from kafka_spec.spec.vocabulary.table import BoundSet, Decision, Machine, Row, Rule, Spec, invariant
from tests import sample_specs

TOY = "a toy"
N = Bound("n", 1, 300, "how far the counter counts")
THREE = (BoundSet("three", {"n": 3}, "enough to see it"),)
SMALL = dict(MODELS["replication/kip_279"].bound_sets[0].values)


def count_up(s: Any) -> None:
    """Count one more."""
    s.value += 1


def is_below_five(s: Any) -> bool:
    """The value is less than 5."""
    return s.value < 5


COUNT_UP = sample_specs.rule("CountUp", count_up)
BELOW_FIVE = invariant("BelowFive", is_below_five, "the value is below 5", TOY)


def counter(plus: int) -> Spec:
    """Return a spec that counts to the bound and so much more; its classes have the same names for each."""

    @dataclass
    class Count:
        """A number."""

        value: int = field(Range(0, N + plus))

    return Spec("counts on", "counts", Count, (COUNT_UP,), (BELOW_FIVE,), bound_sets=THREE)


def spec_of(effect: Any, claim: Any, state: type = sample_specs.Count, **other: Any) -> Spec:
    """Return a spec with one rule and one invariant."""
    claims = (invariant("Claim", claim, "what is claimed", TOY),)
    sets = {} if state is not sample_specs.Count else {"bound_sets": sample_specs.FIVE}
    return Spec("a spec", "it does one thing", state, (sample_specs.rule("Act", effect),), claims, **{**sets, **other})


def agreed(spec: Spec) -> Exploration:
    """Return the findings of the embedded engine and the oracle, which must be the same."""
    return check(spec, everything=True, engine="both")


# ---------------------------------------------------------------------------------------------------------------------
# 1 and 5. Code that a process compiled before


def test_what_is_added_to_a_bound_is_not_forgotten() -> None:
    """Two specs that differ in a constant added to a bound have separate code: 4 levels hold, 6 are violated."""
    first, second = check(counter(0)), check(counter(2))

    assert (first.verdict, first.levels) == ("holds", [1] * 4)
    assert (second.verdict, second.levels) == ("violated", [1] * 6)
    assert check(counter(0)).verdict == "holds"


def is_small(s: Any) -> bool:
    """The value is less than 300."""
    return s.value < 300


def test_other_claims_are_judged_by_other_code() -> None:
    """Two claims of one spec, one true and one false, are checked by separate code, in either order."""
    small = invariant("Small", is_small, "the value is below 300", TOY)
    spec = Spec("counts", "counts", sample_specs.Count, (COUNT_UP,), (small, BELOW_FIVE), bound_sets=sample_specs.FIVE)

    for name, verdict in (("Small", "holds"), ("BelowFive", "violated"), ("Small", "holds")):
        assert check(spec, properties=[name]).verdict == verdict


def set_to(s: Any, value: int) -> None:
    """Take any value."""
    s.value = value


def test_what_a_parameter_runs_over_is_not_forgotten() -> None:
    """A parameter that a bound limits runs over all its values at each of several bounds in one process."""
    rule = Rule("SetTo", "world", "it is set to {value}", TOY, (set_to,), {"value": Range(0, N)})
    spec = Spec("is set", "takes any value", sample_specs.Count, (rule,), (BELOW_FIVE,), more_bounds=(N,))

    assert [check(spec, {"limit": 9, "n": n}, everything=True).levels for n in (3, 2, 7, 1)] == [[1, 3], [1, 2], [1, 7], [1, 1]]
    assert [check(spec, {"limit": 9, "n": n}).verdict for n in (3, 7)] == ["holds", "violated"]


@pytest.mark.parametrize(
    "specs",
    [
        pytest.param(
            [
                (spec, bounds.values)
                for name, spec in MODELS.items()
                if name.startswith("replication/")
                for bounds in spec.bound_sets[:3]
            ],
        ),
        [(spec, bounds.values) for spec in sample_specs.EXPLORABLE for bounds in spec.bound_sets[:2]],
        [(counter(plus), {"n": n}) for plus in (0, 1) for n in (2, 3, 9)],
        pytest.param(
            [(MODELS["zookeeper/fixed"], bounds.values) for bounds in MODELS["zookeeper/fixed"].bound_sets[::16]],
        ),
        pytest.param(
            [(MODELS["zookeeper/fixed"], bounds.values) for bounds in MODELS["zookeeper/fixed"].bound_sets],
            marks=pytest.mark.long,
        ),
    ],
    ids=["replication", "toys", "counters", "control", "all of control"],
)
def test_equal_texts_are_compiled_alike(specs: list[tuple[Spec, dict[str, int]]]) -> None:
    """Checks that share a compilation would have equal code if each were compiled separately."""
    known: set[int] = set()
    for spec, bounds in specs:
        world = Interpreter(spec, bounds)
        parts = world.spec, Layout(world.space), world.actions, world.claims, world.k
        shared = Program(*parts, tier=Tier.QUICK)
        if id(shared.written) in known:
            own = Program(*parts, fresh=True, tier=Tier.QUICK)
            assert (own.text, own.written.faults) == (shared.text, shared.written.faults)
        known.add(id(shared.written))


MODULE = '''
"""A module whose names change."""

LIMIT = 3


def helper(value):
    """The value is small."""
    return value < 3


def other_helper(value):
    """The value is less than 9."""
    return value < 9


def claim(s):
    """The value is below the limit."""
    return s.value < LIMIT


def claim_by_helper(s):
    """The helper says so."""
    return helper(s.value)


def claim_that_is_true(s):
    """The value is what it is."""
    return s.value == s.value


def writer(value):
    """Nothing, so far."""
    return 1


def guard(s):
    """A helper agrees."""
    return looks(s)


def looks(s):
    """It looks."""
    return s.value < 5


def writes(s):
    """It writes."""
    s.value = 0
    return s.value < 5


def count_up(s):
    """Count one more."""
    s.value += 1
'''
NAMES = itertools.count()


@pytest.fixture
def module(tmp_path: Path) -> ModuleType:
    """A separate module, loaded from a file."""
    path = tmp_path / f"changing_{next(NAMES)}.py"
    path.write_text(MODULE, encoding="utf-8")
    return imported(path)


def imported(path: Path) -> ModuleType:
    """Return the module in a file."""
    found = importlib.util.spec_from_file_location(path.stem, path)
    assert found is not None and found.loader is not None
    made = importlib.util.module_from_spec(found)
    found.loader.exec_module(made)
    return made


def test_a_global_that_changes_is_read_anew(module: ModuleType) -> None:
    """If a number that a property reads has changed, the next check in the same process uses the new one."""
    spec = spec_of(module.count_up, module.claim)
    assert agreed(spec).verdict == "violated"
    module.LIMIT = 9  # type: ignore[attr-defined]
    assert agreed(spec).verdict == "holds"
    module.LIMIT = 1  # type: ignore[attr-defined]
    assert len(agreed(spec).findings["Claim"].actions) == 1


def test_a_global_that_grows_too_large_is_refused(module: ModuleType) -> None:
    """A global is validated when a function is first read, and again at the next check."""
    spec = spec_of(module.count_up, module.claim)
    assert agreed(spec).verdict == "violated"
    module.LIMIT = 2**64 + 9  # type: ignore[attr-defined]
    with pytest.raises(SpecError, match="LIMIT is too large; numbers have 64 bits"):
        check(spec)


def test_a_helper_that_changes_is_read_anew(module: ModuleType) -> None:
    """If a helper that a property calls has changed, the next check in the same process uses the new one."""
    spec = spec_of(module.count_up, module.claim_by_helper)
    assert agreed(spec).verdict == "violated"
    module.helper = module.other_helper  # type: ignore[attr-defined]
    assert agreed(spec).verdict == "holds"


def test_a_helper_that_begins_to_write_is_refused(module: ModuleType) -> None:
    """A guard that looked when it was stated is refused by every engine once a helper of it writes."""
    rule = Rule("Act", "world", "it acts", TOY, (module.count_up,), guards=(module.guard,))
    spec = Spec("a spec", "it counts", sample_specs.Count, (rule,), (sample_specs.WITHIN,), bound_sets=sample_specs.FIVE)
    assert agreed(spec).levels == [1] * 6
    module.looks = module.writes  # type: ignore[attr-defined]
    for engine in (embedded.explore, oracle.explore):
        with pytest.raises(SpecError, match="guard guard writes"):
            engine(spec, {"limit": 5})


def test_code_that_is_put_in_the_place_of_another_is_refused(module: ModuleType) -> None:
    """A function whose code was replaced after it was read is refused: its file no longer has its code."""
    spec = spec_of(module.count_up, module.claim)
    assert agreed(spec).verdict == "violated"
    module.claim.__code__ = module.claim_that_is_true.__code__.replace(co_firstlineno=module.claim.__code__.co_firstlineno)
    for engine in (embedded.explore, oracle.explore):
        with pytest.raises(SpecError, match="its code differs from its file"):
            engine(spec, {"limit": 5})


EDITED = '''
"""A spec that counts to 5."""

from tests import sample_specs
from kafka_spec import Spec, invariant

MOST = 7


def is_small(s):
    """The value is small."""
    return s.value < MOST


SPEC = Spec("edited", "counts", sample_specs.Count, (sample_specs.COUNT_UP,),
            (invariant("Small", is_small, ""),), bound_sets=sample_specs.FIVE)
'''


def test_python_keeps_no_constant_of_before(tmp_path: Path) -> None:
    """A constant that is edited without another size or second of the file is read anew, whatever Python compiled before."""
    file = tmp_path / "edited.py"
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{tmp_path}"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    codes = []
    for most in (7, 3):
        file.write_text(EDITED.replace("MOST = 7", f"MOST = {most}"), encoding="utf-8")
        os.utime(file, (1_700_000_000, 1_700_000_000))
        command = [sys.executable, "-m", "kafka_spec", "check", "edited:SPEC", "--no-deadlock", "-q"]
        codes.append(subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=False).returncode)
        # pytest or another program of the user compiles it
        subprocess.run([sys.executable, "-c", "import edited"], cwd=tmp_path, env=environment, check=True)

    assert codes == [0, 1]


# ---------------------------------------------------------------------------------------------------------------------
# 2. Code that was kept on disk

CHECK = ("check", "replication/kip_279", "--bounds", "three_replicas")


@dataclass
class Kept:
    """A cache folder with the code of two models, of which one is wrong for the other."""

    folder: Path
    mine: Path
    other: Path
    run: Callable[..., Any]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    """A cache with the code of kip_279 and of kip_320, and the names of their files."""
    folder = tmp_path_factory.mktemp("filled") / "cache"
    names: list[str] = []
    for model in ("kip_279", "kip_320"):
        command = [sys.executable, "-m", "kafka_spec", "check", f"replication/{model}", "--bounds", "three_replicas"]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "KAFKA_SPEC_CACHE": str(folder)}
        subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=False)
        names += [path.name for path in folder.glob("*.o") if path.name not in names]
    return folder, names[0], names[1]


@pytest.fixture
def kept(filled: tuple[Path, str, str], kafka_spec: Command, tmp_path: Path) -> Kept:
    """A copy of that cache, of one's own."""
    before, mine, other = filled
    folder = tmp_path / "above" / "cache"
    folder.parent.mkdir(mode=0o700)
    shutil.copytree(before, folder)

    def run(*arguments: str) -> Any:
        return kafka_spec(*arguments, env={"KAFKA_SPEC_CACHE": str(folder)})

    return Kept(folder, folder / mine, folder / other, run)


def forged(kept: Kept) -> bytes:
    """Return the code of the other model in the form of a whole entry for the first, as an attacker would write it."""
    mine, other = kept.mine.read_bytes(), kept.other.read_bytes()
    head = len(commonpath([b"kafka-spec code 2\n", mine])) + 64 if mine.startswith(b"kafka-spec code 2\n") else 0
    code = other[head + 32 :]
    return mine[:head] + hashlib.sha256(mine[:head] + code).digest() + code


def test_the_folder_is_closed_to_others(kept: Kept) -> None:
    """The cache folder is made for its user alone, and its files are."""
    assert kept.folder.stat().st_mode & 0o777 == 0o700
    assert kept.mine.stat().st_mode & 0o777 == 0o600


def test_code_of_something_else_is_noticed(kept: Kept) -> None:
    """The code of a model that holds, copied over that of one that does not, is reported and recompiled; --verify too."""
    kept.mine.write_bytes(kept.other.read_bytes())
    found = kept.run(*CHECK)

    assert found.returncode == 1 and "VIOLATED" in found.stdout
    assert found.stderr.count("warning:") == 1 and f"{kept.mine} is of something else; compiling again" in found.stderr
    assert kept.run(*CHECK).stderr == ""


def test_verify_trusts_no_code_that_was_kept(kept: Kept) -> None:
    """Even code with a right checksum in a folder of one's own does not deceive --verify, which compiles anew."""
    kept.mine.write_bytes(forged(kept))
    found = kept.run(*CHECK, "--verify", "--all")

    assert found.returncode != 0 and "holds, complete" not in found.stdout


@pytest.mark.parametrize("part", ["the folder", "the folder above", "the file"])
def test_what_others_can_write_to_is_not_executed(kept: Kept, part: str) -> None:
    """Code that others could have put there is refused in one line, even with a right checksum; the verdict is right."""
    kept.mine.write_bytes(forged(kept))
    place = {"the folder": kept.folder, "the folder above": kept.folder.parent, "the file": kept.mine}[part]
    place.chmod(0o777)
    found = kept.run(*CHECK)

    assert found.returncode == 1 and "VIOLATED" in found.stdout
    assert found.stderr.count("warning:") == 1 and f"others can write to {place}" in found.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
@pytest.mark.parametrize("part", ["the folder", "the folder above", "the file"])
def test_what_others_own_is_not_executed(kept: Kept, part: str) -> None:
    """Code in files or folders of other users is refused in one line."""
    kept.mine.write_bytes(forged(kept))
    place = {"the folder": kept.folder, "the folder above": kept.folder.parent, "the file": kept.mine}[part]
    os.chown(place, 12345, -1)
    found = kept.run(*CHECK)

    assert found.returncode == 1 and "VIOLATED" in found.stdout
    assert found.stderr.count("warning:") == 1 and f"{place} is owned by another user" in found.stderr


def test_a_link_in_the_place_of_a_file_is_refused(kept: Kept, tmp_path: Path) -> None:
    """An entry that is a symbolic link is not followed."""
    elsewhere = tmp_path / "elsewhere.o"
    elsewhere.write_bytes(forged(kept))
    kept.mine.unlink()
    kept.mine.symlink_to(elsewhere)
    found = kept.run(*CHECK)

    assert found.returncode == 1 and "compiled code cannot be read" in found.stderr


# ---------------------------------------------------------------------------------------------------------------------
# 3 and 4. Capacities, and numbers of 64 bits and more


def push(s: Any) -> None:
    """Append a number."""
    append(s.items, 1)


def test_a_negative_capacity_is_refused() -> None:
    """A sequence whose capacity is below 0 at the given bounds is refused, like an array."""
    domain = SequenceOf(Range(0, 5), N - 2)

    assert domain.at({"n": 2}, "items").capacity == 0
    with pytest.raises(SpecError, match="items: a sequence of at most -1 items"):
        domain.at({"n": 1}, "items")
    with pytest.raises(SpecError, match="an array of -1 items"):
        ArrayOf(Range(0, 5), N - 2).at({"n": 1}, "items")

    @dataclass
    class Holder:
        """A sequence that may have no room, and what stands beside it."""

        items: list[int] = field(domain)
        beside: int = field(Range(0, 5))

    with pytest.raises(SpecError, match="a sequence of at most -1 items"):
        check(Spec("a spec", "it appends", Holder, (sample_specs.rule("Push", push),)), {"n": 1})


class Large(enum.IntEnum):
    """Members that compiled code would take for others."""

    THREE = 2**64 + 3
    MINUS = -(2**64) + 3


HUGE = 2**63


def is_large(s: Any) -> bool:
    """The value is what 64 bits make of a large member."""
    return s.value != Large.THREE


def is_minus(s: Any) -> bool:
    """The value is what 64 bits make of a small member."""
    return s.value != Large.MINUS


def is_huge(s: Any) -> bool:
    """The value is not a large number."""
    return s.value != HUGE


def is_literal(s: Any) -> bool:
    """The value is not a large literal."""
    return s.value != 18446744073709551619


def is_decided(s: Any, k: Any) -> bool:
    """The value is not the decision."""
    return s.value != k.decision


@pytest.mark.parametrize(
    ("claim", "name"),
    [(is_large, "Large.THREE"), (is_minus, "Large.MINUS"), (is_huge, "HUGE"), (is_literal, "18446744073709551619")],
)
def test_numbers_beyond_64_bits_are_refused_by_name(claim: Any, name: str) -> None:
    """A member, a constant or a literal beyond 64 bits is refused where the function is read."""
    with pytest.raises(SpecError, match=f"{name} is too large; numbers have 64 bits"):
        spec_of(sample_specs.count_up, claim)


def test_a_decision_beyond_64_bits_is_refused() -> None:
    """A decision whose value has more than 64 bits is refused at its declaration."""
    with pytest.raises(SpecError, match=r"decision decision: .* is too large"):
        spec_of(sample_specs.count_up, is_decided, decisions=(Decision("decision", Large.THREE, "too much"),))


def test_a_bound_beyond_64_bits_is_refused() -> None:
    """A bound that may have more than 64 bits is refused, and so is `k` with such a value."""
    with pytest.raises(SpecError, match=r"bound wide: .* is too large"):
        Bound("wide", 0, 2**64, "too much")
    with pytest.raises(SpecError, match=r"k\.limit: .* is too large"):
        embedded.explore(sample_specs.COUNTER, {"limit": 2**64 + 3})


@pytest.mark.parametrize(
    ("domain", "message"),
    [
        (Range(0, 2**64), "is too large"),
        (Range(-(2**64), 0), "is too large"),
        (OneOf(Large), r"Large\.THREE is too large"),
        (SetOf(80), "a set of 80 members"),
        (SetOf(-1), "a set of -1 members"),
    ],
    ids=["range", "negative range", "enum", "set", "negative set"],
)
def test_domains_beyond_64_bits_are_refused(domain: Any, message: str) -> None:
    """A domain whose numbers do not fit in 64 bits is refused, in a state and as a parameter."""
    with pytest.raises(SpecError, match=message):
        domain.at({}, "a field")
    rule = Rule("Act", "world", "it acts", TOY, (sample_specs.count_up,), params={"x": domain})
    with pytest.raises(SpecError, match=message):
        check(Spec("a spec", "it acts", sample_specs.Count, (rule,), bound_sets=sample_specs.FIVE))


def test_states_of_a_machine_beyond_64_bits_are_refused() -> None:
    """A machine whose states have numbers beyond 64 bits is refused."""
    with pytest.raises(SpecError, match="state THREE is too large"):
        Machine("M", Large, Large.THREE, (Row("go", (Large.THREE,), Large.MINUS),))


def test_too_many_actions_are_refused() -> None:
    """Actions are numbered in 32 bits; a rule with more bindings is refused."""
    rule = Rule("Act", "world", "it acts", TOY, (sample_specs.count_up,), params={"x": Range(0, 1 << 20), "y": Range(0, 1 << 20)})
    with pytest.raises(SpecError, match="narrow the parameters"):
        check(Spec("a spec", "it acts", sample_specs.Count, (rule,), bound_sets=sample_specs.FIVE))


# ---------------------------------------------------------------------------------------------------------------------
# 6. Functions that pass for others


def honest(s: Any) -> bool:
    """The value is below 3."""
    return s.value < 3


def sly(s: Any) -> bool:
    """Anything is fine."""
    return s.value == s.value


def test_a_function_that_passes_for_another_is_refused() -> None:
    """functools.update_wrapper lets a function show another's source; Python runs the one, compiled code was the other."""

    def wrapper(s: Any) -> bool:
        """Anything is fine."""
        return bool(s.value == s.value)

    functools.update_wrapper(wrapper, honest)
    with pytest.raises(SpecError, match=r"it wraps honest \(__wrapped__\)"):
        spec_of(sample_specs.count_up, wrapper)


def test_the_code_of_another_under_an_honest_name_is_refused() -> None:
    """A function whose code differs from the source at its lines is refused at its declaration."""

    def claim(s: Any) -> bool:
        """The value is below 3."""
        return bool(s.value < 3)

    claim.__code__ = sly.__code__.replace(co_firstlineno=honest.__code__.co_firstlineno)
    with pytest.raises(SpecError, match="its code differs from its file"):
        spec_of(sample_specs.count_up, claim)


def test_a_file_that_changed_since_it_was_imported_is_refused(tmp_path: Path) -> None:
    """A function whose file has changed since its import is refused, not compiled from the new text."""
    path = tmp_path / f"edited_{next(NAMES)}.py"
    path.write_text(MODULE, encoding="utf-8")
    module = imported(path)
    path.write_text(MODULE.replace("s.value < LIMIT", "s.value < 300"), encoding="utf-8")
    os.utime(path, (1, 1))
    with pytest.raises(SpecError, match="its code differs from its file"):
        spec_of(module.count_up, module.claim)


# ---------------------------------------------------------------------------------------------------------------------
# 7. Integers with operators of their own


class Odd(int):
    """An integer that is equal to nothing."""

    def __eq__(self, other: object) -> bool:
        return False

    __hash__ = int.__hash__


class Plain(int):
    """An integer like any other."""


class Colour(enum.IntEnum):
    """An enum with an operator of its own."""

    RED = 3

    def __lt__(self, other: int) -> bool:
        return True


class Steps(int):
    """An integer that is added to in its own way."""

    def __iadd__(self, other: int) -> int:
        return 0


class Flags(enum.IntFlag):
    """Flags, whose ~ is not that of integers."""

    ONE = 1
    TWO = 2


ODD, PLAIN, STEPS = Odd(3), Plain(3), Steps(3)


def is_odd(s: Any) -> bool:
    """The value is not an odd three."""
    return s.value != ODD


def is_plain(s: Any) -> bool:
    """The value is not a plain three."""
    return s.value != PLAIN


def is_step(s: Any) -> bool:
    """The value is not a step."""
    return s.value != STEPS


def is_red(s: Any) -> bool:
    """Red is not less."""
    return not (Colour.RED < s.value)  # noqa: SIM300


def is_flag(s: Any) -> bool:
    """The value is not a flag's complement."""
    return s.value != ~Flags.ONE


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        (is_odd, "ODD is a Odd, an integer with its own __eq__"),
        (is_step, "STEPS is a Steps, an integer with its own __iadd__"),
        (is_red, r"Colour\.RED is a Colour, an integer with its own __lt__"),
        (is_flag, r"Flags\.ONE is .*"),
    ],
)
def test_integers_with_operators_of_their_own_are_refused_by_name(claim: Any, message: str) -> None:
    """A subclass of int or an enum that overrides an operation of int is refused when the function is read."""
    with pytest.raises(SpecError, match=message):
        spec_of(sample_specs.count_up, claim)


def test_integers_without_are_taken() -> None:
    """A subclass of int without overrides means the same to both engines."""
    assert len(agreed(spec_of(sample_specs.count_up, is_plain)).findings["Claim"].actions) == 3


@pytest.mark.parametrize("operator", ["and_", "or_", "xor", "add", "sub", "mul", "lshift", "rshift", "eq", "lt", "ge"])
def test_sets_of_brokers_are_the_numbers_they_are_held_as(operator: str) -> None:
    """BrokerSet, the only class with trusted operators, returns int's result for each of them."""
    do = getattr(python_operator, operator)
    for one, other in itertools.product(range(9), repeat=2):
        left, right = BrokerSet(one), BrokerSet(other)
        assert int(do(left, right)) == int(do(left, other)) == int(do(one, right)) == int(do(one, other))
    assert [int(~BrokerSet(one)) for one in range(9)] == [~one for one in range(9)]


class Marked(BrokerSet):
    """A set of brokers with an operator of its own."""

    def __or__(self, other: int) -> BrokerSet:
        return BrokerSet(0)


MARKED = Marked(3)


def is_marked(s: Any) -> bool:
    """The value is not marked."""
    return s.value != (MARKED | 4)


def test_a_class_derived_from_a_set_of_brokers_is_refused() -> None:
    """A subclass of BrokerSet that overrides an operator is refused."""
    with pytest.raises(SpecError, match="MARKED is a Marked, an integer with its own __or__"):
        spec_of(sample_specs.count_up, is_marked)


def test_operators_of_ones_own_are_refused_elsewhere() -> None:
    """Decisions, domains, bounds and machines refuse such integers too."""
    with pytest.raises(SpecError, match=r"decision d: .* its own __lt__"):
        Decision("d", Colour.RED, "odd")
    with pytest.raises(SpecError, match=r"Colour\.RED is a Colour"):
        OneOf(Colour).at({}, "a field")
    with pytest.raises(SpecError, match="its own __eq__"):
        Range(0, ODD).at({}, "a field")
    with pytest.raises(SpecError, match="its own __eq__"):
        Bound("b", 0, ODD, "odd")
    with pytest.raises(SpecError, match="state RED is a Colour"):
        Machine("M", Colour, Colour.RED, (Row("go", (Colour.RED,), Colour.RED),))


def shadowed(s: Any) -> bool:
    """A loop over something that is called range."""
    for i in range(3):
        if s.value == i:
            return False
    return True


def test_a_range_of_ones_own_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop is over the range that is built in: another under that name would run in Python alone."""
    monkeypatch.setitem(shadowed.__globals__, "range", lambda stop: [7])
    with pytest.raises(SpecError, match="range is another name here"):
        spec_of(sample_specs.count_up, shadowed)


# ---------------------------------------------------------------------------------------------------------------------
# 8. Counts that do not add up


@pytest.mark.parametrize("engine", ["embedded", "oracle"])
def test_a_count_of_new_states_that_is_wrong_is_an_internal_error(
    engine: str, monkeypatch: pytest.MonkeyPatch, inside: Command
) -> None:
    """Initial and new states are the distinct ones; otherwise there is no verdict, and the exit code is 4."""
    began = embedded.Search.begin if engine == "embedded" else oracle._Search.begin

    def begin(search: Any) -> None:
        began(search)
        search.result.new["LeaderWrite"] += 1

    monkeypatch.setattr(embedded.Search if engine == "embedded" else oracle._Search, "begin", begin)
    reported = inside("check", "replication/kip_279", "--engine", engine)

    assert reported.returncode == 4 and "sums do not add up" in reported.stderr
    assert "verdict" not in reported.stdout


def test_more_new_states_than_firings_are_an_internal_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule with more new states than firings is an internal error, even if the sum over all rules is right."""
    counted = embedded.add_up

    def add_up(search: embedded.Search) -> None:
        counted(search)
        search.result.new["Shut"] += 1000
        search.result.new["Open"] -= 1000

    monkeypatch.setattr(embedded, "add_up", add_up)
    with pytest.raises(EngineError, match=r"sums do not add up: .*Shut reached 1,028 new states in 306 firings"):
        embedded.explore(sample_specs.DOORS, sample_specs.bounds_of(sample_specs.DOORS), everything=True)


def test_a_loss_when_the_set_grows_is_an_internal_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """The set of seen fingerprints is recounted at the end: a lost one is detected, even if it was found again."""
    grown = Shard.grow
    lost: list[int] = []

    def grow(shard: Shard, size: int) -> None:
        grown(shard, size)
        at = int(shard.table.nonzero()[0][0])
        lost.append(int(shard.table[at]))
        shard.table[at] = 0

    monkeypatch.setattr(Shard, "grow", grow)
    with pytest.raises(EngineError, match=r"a set took .* states, and holds|sums do not add up"):
        embedded.explore(sample_specs.GRID, {"limit": 12}, everything=True)
    assert lost


@pytest.mark.parametrize("engine", [embedded, oracle])
@pytest.mark.parametrize("asked", [1, 2, 3, 5, 8, 13, 21, 34])
def test_a_search_that_is_stopped_anywhere_adds_up(engine: ModuleType, asked: int) -> None:
    """A budget that is spent between two levels or within one leaves counts of whole levels, and no error."""

    class Spent(Budget):
        left = asked

        def exhausted(self, distinct: int = 0, planned_bytes: int = 0) -> str:
            self.left -= 1
            return "" if self.left else "spent"

    result = engine.explore(sample_specs.GRID, {"limit": 12}, everything=True, budget=Spent())

    assert (result.stopped, result.complete) == ("spent", False)
    assert sum(result.levels[:1]) + sum(result.new.values()) == result.distinct == sum(result.levels)


def test_states_that_the_levels_do_not_have_are_an_internal_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """The states that the oracle has seen must be those of its levels; otherwise there is no verdict."""
    began = oracle._Search.begin

    def begin(search: Any) -> None:
        began(search)
        search.seen.add(("nobody",))

    monkeypatch.setattr(oracle._Search, "begin", begin)
    with pytest.raises(EngineError, match="6 states, and 7 are held as seen"):
        oracle.explore(sample_specs.COUNTER, {"limit": 5})


@pytest.fixture
def altered(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, Any], None]]:
    """Return a function that changes one kind of the oracle's results."""
    honest_explore = oracle.explore

    def alter(kind: str, value: Any) -> None:
        def explore(*arguments: Any, **options: Any) -> Exploration:
            result = honest_explore(*arguments, **options)
            setattr(result, kind, value(getattr(result, kind)))
            return result

        monkeypatch.setattr(oracle, "explore", explore)

    yield alter


# ---------------------------------------------------------------------------------------------------------------------
# 9. Compared results


def more(counts: Any) -> Any:
    """Return counts with one more of the first rule."""
    return type(counts)({**counts, "CountUp": counts["CountUp"] + 1})


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("levels", lambda levels: [*levels[:-1], levels[-1] + 1]),
        ("fired", more),
        ("new", more),
        ("cut_by", lambda cut_by: {**cut_by, ("CountUp", "limit"): 7}),
        ("digest", lambda digest: digest ^ 1),
        ("findings", lambda findings: {name: type(way)(way.start + 1, way.actions) for name, way in findings.items()}),
        ("complete", lambda complete: not complete),
    ],
)
def test_both_engines_are_compared_in_everything(altered: Callable[[str, Any], None], kind: str, change: Any) -> None:
    """--engine both notices each of levels, firings, new states, bounded steps, digest and findings that differ alone."""
    altered(kind, change)
    with pytest.raises(EngineError, match=f"{kind} not the same"):
        check(sample_specs.COUNTER, engine="both", everything=True, deadlock=False)


@pytest.mark.parametrize("engine", ["embedded", "oracle"])
def test_verify_with_the_same_seed_verifies_nothing(engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Were the second search to have the seed of the first, that is an internal error, and no confirmation."""
    explore = {"embedded": embedded, "oracle": oracle}[engine].explore

    def same_seed(*arguments: Any, **options: Any) -> Exploration:
        found: Exploration = explore(*arguments, **{**options, "seed": None})
        return found

    monkeypatch.setattr({"embedded": embedded, "oracle": oracle}[engine], "explore", same_seed)
    with pytest.raises(EngineError, match="nothing was verified"):
        check(sample_specs.COUNTER, engine=engine, verify=True)
