"""What the compiler wrote is used again for equal inputs, in another process too, and for no others."""

from __future__ import annotations

import gc
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kafka_spec.model_check.check import check
from kafka_spec.model_check.code import cache_key, graph_code, memo
from kafka_spec.model_check.exploration import EngineError, Exploration
from kafka_spec.model_check.llvm import disk_cache, machine_code
from kafka_spec.model_check.lowering.compiler import Compiler
from kafka_spec.model_check.oracle import oracle
from kafka_spec.model_check.record.layout import Layout, Packed
from kafka_spec.model_check.search import embedded
from kafka_spec.spec.language.domain import Bound, Member, Range, Record, Scalar, field
from kafka_spec.spec.vocabulary.table import Constants, Rule, Spec, SpecError, Symmetric, anywhere, invariant
from tests import sample_specs

PACKAGE = Path(memo.__file__).parents[2]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own, and a process that knows nothing, as if the sources were settled."""
    monkeypatch.setenv("KAFKA_SPEC_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(memo, "_known", {})
    monkeypatch.setattr(memo, "SOURCES", b"the sources")
    return tmp_path / "cache"


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """A list that grows with each function that is compiled."""
    names: list[str] = []
    declare = Compiler.declare

    def declared(self: Compiler, name: str, *given: Any, **named: Any) -> Any:
        names.append(name)
        return declare(self, name, *given, **named)

    monkeypatch.setattr(Compiler, "declare", declared)
    yield names


def explored(limit: int = 3, **options: Any) -> Exploration:
    """Search a toy with goals, a violated claim, bounds that cut, and claims on the graph."""
    return embedded.explore(sample_specs.GRID_TRAP, {"limit": limit}, everything=True, **options)


def as_another_process() -> None:
    """Forget what this process knows; the folder stays."""
    memo._known.clear()


def counts(result: Exploration) -> tuple[Any, ...]:
    """Return all that an exploration says, without times."""
    return result.levels, result.fired, result.bounded, result.cut_by, result.tested, result.findings, result.digest


def test_another_process_compiles_nothing(compiled: list[str]) -> None:
    """A second process finds code and faults in the cache; every count and finding is that of the first."""
    first = explored()
    assert compiled
    compiled.clear()
    as_another_process()

    assert counts(explored()) == counts(first)
    assert compiled == []


def test_new_compilations_use_nothing(compiled: list[str]) -> None:
    """What --verify compiles is compiled, whatever is known in this process or in the cache."""
    explored()
    for forget in (lambda: None, as_another_process):
        forget()
        compiled.clear()
        explored(fresh=True)
        assert compiled


def test_other_sources_compile_anew(compiled: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """An entry that another compiler wrote is not used; one whose sources cannot be told is neither read nor written."""
    explored()
    for sources, writes in ((b"other sources", True), (b"other sources", False), (b"", True), (b"", True), (b"the sources", False)):
        as_another_process()
        compiled.clear()
        monkeypatch.setattr(memo, "SOURCES", sources)
        explored()
        assert bool(compiled) == writes


def test_code_that_is_lost_is_written_again(cache: Path, compiled: list[str]) -> None:
    """If the machine code is no longer in the cache, its text is written again, and gives the same."""
    first = explored()
    for file in cache.glob("*.o"):
        file.unlink()
    as_another_process()
    compiled.clear()

    assert counts(explored()) == counts(first)
    assert compiled


def test_other_code_for_equal_inputs_is_an_error() -> None:
    """If the text that is written again has another digest than before, the check ends with an error."""
    code = machine_code.CodeText(machine_code.digest_of("this"), lambda: "that")

    with pytest.raises(EngineError, match="other code for equal inputs"):
        machine_code.load(code)


def test_faults_are_told_from_the_cache(compiled: list[str]) -> None:
    """A function that cannot be executed is reported in the same words by code from the cache."""
    reported = []
    for _ in range(2):
        as_another_process()
        compiled.clear()
        with pytest.raises(SpecError) as raised:
            embedded.explore(sample_specs.EFFECT_RAISES, {})
        reported.append((str(raised.value), bool(compiled)))

    assert reported[0][0] == reported[1][0]
    assert [compiles for _, compiles in reported] == [True, False]


@pytest.mark.parametrize("collects", [True, False])
def test_the_collector_is_as_it_was(collects: bool) -> None:
    """After code was written, and after it could not be, garbage is collected if it was before, and not otherwise."""
    met = []

    def fails() -> Any:
        met.append(gc.isenabled())
        raise SpecError("it cannot be compiled")

    before = gc.isenabled()
    try:
        (gc.enable if collects else gc.disable)()
        with pytest.raises(SpecError):
            memo.written("", fails, fresh=True)
        assert (met, gc.isenabled()) == ([False], collects)
        memo.written("", lambda: ("", (), ()), fresh=True)
        assert gc.isenabled() == collects
    finally:
        (gc.enable if before else gc.disable)()


@pytest.fixture
def generated(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """A list that grows with each generation of machine code of a spec: whether it is quick."""
    graph_code._functions()  # the code that judges claims about paths is the same for all specs: a process has it once
    generate, tiers = machine_code._generate, list[bool]()

    def watched(code: str, quick: bool) -> bytes:
        tiers.append(quick)
        return generate(code, quick)

    monkeypatch.setattr(machine_code, "_generate", watched)
    return tiers


def test_a_search_that_grows_large_gets_faster_code(generated: list[bool]) -> None:
    """From so many states on a search runs other code of the same text, and finds the same; the fast code is then used at once."""
    small = explored()
    assert generated == [True]
    large = explored(fast_from=small.distinct // 2)
    assert generated == [True, False]
    known = explored()

    assert generated == [True, False]
    assert counts(small) == counts(large) == counts(known)
    assert large.compile_seconds > known.compile_seconds


def test_small_searches_get_faster_code_together(generated: list[bool]) -> None:
    """Searches of the same code count together, also where another process ran the others; equal searches find the same."""
    once = explored()
    enough = 2 * once.distinct + 1
    again = explored(fast_from=enough)
    assert generated == [True]
    third = explored(fast_from=enough)

    assert generated == [True, False]
    assert counts(once) == counts(again) == counts(third)


def test_a_damaged_count_of_states_is_no_count(generated: list[bool]) -> None:
    """Where the cache cannot tell how many states were searched, none were; the search says so, and goes on."""
    first = explored()
    (reported,) = disk_cache.folder().glob("*.n")
    reported.write_bytes(b"12")
    with pytest.warns(disk_cache.CacheWarning, match="damaged"):
        again = explored(fast_from=first.distinct + 1)

    assert generated == [True]
    assert counts(first) == counts(again)


def test_fast_code_is_asked_for(generated: list[bool]) -> None:
    """From 0 states on the code is fast, also where quick code is known; --verify compares quick code with fast code."""
    explored()
    explored(fast_from=0)
    assert generated == [True, False]
    generated.clear()
    assert check(sample_specs.COUNTER, {"limit": 3}, verify=True).compared == ["another seed"]
    assert generated == [True, False]


def test_code_for_some_bounds_is_used_for_no_others(generated: list[bool]) -> None:
    """Bounds of one shape share quick code; code in which they are constants is generated for each, and finds the same."""
    quick = {limit: explored(limit) for limit in (2, 3, 4)}
    assert generated == [True] and len({result.digest for result in quick.values()}) == 3
    for limit, result in quick.items():
        assert counts(explored(limit, fast_from=0)) == counts(result)
    assert generated == [True, False, False, False]
    for limit, result in quick.items():
        assert counts(explored(limit)) == counts(result)
    assert generated == [True, False, False, False]


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of the sources that make code."""
    for part in memo.PARTS:
        if (PACKAGE / part).is_dir():
            shutil.copytree(PACKAGE / part, tmp_path / part, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(PACKAGE / part, tmp_path / part)
    return tmp_path


SOURCES = ("lowering/arithmetic.py", "code/kernel.py")
VOCABULARY = ("language/body.py", "language/domain/types.py", "vocabulary/table/rules.py")


@pytest.mark.parametrize("changed", [*(f"model_check/{file}" for file in SOURCES), *(f"spec/{file}" for file in VOCABULARY)])
def test_a_change_of_any_source_changes_the_key(copied: Path, monkeypatch: pytest.MonkeyPatch, changed: str) -> None:
    """One character more in a source of the engine or the vocabulary gives another digest; equal sources elsewhere the same."""
    monkeypatch.setattr(memo, "SETTLED", -1)
    before = memo.sources(copied)
    with (copied / changed).open("a") as file:
        file.write(" ")

    assert before == memo.sources(PACKAGE)
    assert len({before, memo.sources(copied), b""}) == 3


def test_sources_that_have_just_changed_are_not_trusted(copied: Path, tmp_path: Path) -> None:
    """Where a source changed seconds ago, or cannot be read, the digest is empty: who imported it may have read another."""
    assert memo.sources(copied) == b""
    assert memo.sources(tmp_path / "nowhere") == b""


# ---------------------------------------------------------------------------------------------------------------------
# What the key leaves out

GUESTS = Bound("guests", 1, 6, "guests")


@dataclass
class Visit:
    """Which guest has the key, which one waits, and the hour."""

    holder: int = field(Member(GUESTS, "guest"))
    waits: int = field(Member(GUESTS, "guest"))
    hour: int = field(Range(0, 1))


def arrive(s: Visit, holder: int, waiting: int) -> None:
    """Two guests arrive."""
    s.holder = holder
    s.waits = waiting


def are_two(holder: int, waiting: int) -> bool:
    """They are two."""
    return holder != waiting


def it_is_early(s: Visit) -> bool:
    """The hour is not over."""
    return s.hour == 0


def hand_over(s: Visit) -> None:
    """The key is handed to the guest who waits."""
    s.hour = 1
    s.holder = s.waits


def nobody_waits_for_himself(s: Visit, k: Constants) -> bool:
    """No guest has the key and waits for it."""
    return not any(s.holder == guest and s.waits == guest for guest in range(k.guests))


VISIT = Spec(
    "visit",
    "guests",
    Visit,
    (Rule("HandOver", "guest", "the key is handed over", "", (hand_over,), guards=(it_is_early,)),),
    (invariant("Apart", nobody_waits_for_himself, "no guest waits for what they have"),),
    start=Rule("Start", "guests", "two arrive", "", (arrive,), {"holder": Member(GUESTS), "waiting": Member(GUESTS)}, (are_two,)),
    normal_form=(Symmetric(GUESTS),),
    final=anywhere,
).in_normal_form()


def test_code_for_other_numbers_of_members_is_other_code() -> None:
    """A search that renames two members after one that renamed four: the number of members is in the key, as it is in the code."""
    for guests in (4, 2, 3, 2):
        found, truth = (explore(VISIT, {"guests": guests}, everything=True) for explore in (embedded.explore, oracle.explore))
        assert (found.levels, found.violated, found.digest) == (truth.levels, ["Apart"], truth.digest)


def test_an_omission_from_the_key_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the key left out what the compiler compiles in, the compiler could not read it: no code is made."""
    monkeypatch.setattr(cache_key, "at_run_time", lambda spec, constants: frozenset(constants))

    with pytest.raises(EngineError, match=r"the compiler asks for Scalar.high, which the key of compiled code leaves out"):
        embedded.explore(VISIT, {"guests": 4})


def places(packed: Packed) -> Iterator[Packed]:
    """Yield a packed form and all that is inside it."""
    yield packed
    for _, inner in (packed.fields or {}).values():
        yield from places(inner)
    if packed.item is not None:
        yield from places(packed.item)


def test_what_the_key_leaves_out_cannot_be_read() -> None:
    """Each attribute of a type that the view has not is refused when it is read, and all others are in the text of the key."""
    for spec, bounds in (
        (sample_specs.GRID_TRAP, {"limit": 3}),
        (sample_specs.CHANNEL, sample_specs.CHANNEL.bound_values({})),
        (VISIT, {"guests": 3}),
    ):
        layout = Layout(spec.space(bounds))
        view = cache_key.seen(layout.root, frozenset(spec.bounds))
        for mine, its in zip(places(layout.root), places(view), strict=True):
            hidden = set(vars(mine.type)) - set(vars(its.type))
            for name in hidden:
                with pytest.raises(EngineError, match=f"asks for {type(mine.type).__name__}.{name}"):
                    getattr(its.type, name)
            if isinstance(mine.type, Record):
                assert hidden == {"live", "holders"}
            if isinstance(mine.type, Scalar):
                assert hidden == ({"show", "high"} if mine.type.bound in spec.bounds else {"show"})


def test_code_that_is_used_again_can_be_verified(monkeypatch: pytest.MonkeyPatch, compiled: list[str]) -> None:
    """With the environment variable, code that is used again is written anew and compared: a key that forgets is an error."""
    explored()
    compiled.clear()
    explored()
    assert compiled == []
    monkeypatch.setenv(memo.VERIFIES, "1")
    explored()
    assert compiled

    monkeypatch.setattr(cache_key.Inputs, "text", "the same for all")
    embedded.explore(sample_specs.GRID_TRAP, {"limit": 3})
    with pytest.raises(EngineError, match="the compiler writes other code for equal inputs"):
        embedded.explore(sample_specs.CHANNEL, sample_specs.CHANNEL.bound_values({}))
