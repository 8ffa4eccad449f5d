"""Local functions: the same in plain Python, compiled code and TLA+, chained, and explained where they decide."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from test_tla import agree

from kafka_spec.model_check.check import check
from kafka_spec.model_check.traces.counterexample import trace_of
from kafka_spec.model_check.traces.explain import reasons
from kafka_spec.spec.language import source_of
from kafka_spec.spec.language.domain import ArrayOf, Bound, Member, Range, field
from kafka_spec.spec.vocabulary.table import Constants, Rule, Spec, invariant

TOY = "a toy"
SERVERS = Bound("servers", 1, 3, "servers")


@dataclass
class Log:
    """How far each server is, and what is committed."""

    ends: list[int] = field(ArrayOf(Range(0, 2), SERVERS, "server"))
    committed: int = field(Range(0, 2))


def write(s: Log, server: int, k: Constants) -> None:
    """Write one entry, then commit what a majority holds."""
    s.ends[server] += 1
    most = 0

    def holders(index: int) -> int:
        return sum(1 for other in range(k.servers) if s.ends[other] >= index)

    def is_held(index: int) -> bool:
        return 2 * holders(index) > k.servers

    def raise_to(index: int) -> None:
        if s.committed < index:
            s.committed = index

    for index in range(3):
        if is_held(index):
            most = index
    raise_to(most)


def has_room(s: Log, server: int) -> bool:
    """There is room for one more entry."""

    def left(of: int) -> int:
        return 2 - s.ends[of]

    return left(server) > 0


def one_server_holds_it(s: Log, k: Constants) -> bool:
    """Server 0 holds what is committed."""

    def holds_all(server: int) -> bool:
        return s.ends[server] >= s.committed

    return holds_all(0)


def is_bounded(s: Log, k: Constants) -> bool:
    """What is committed is held by some server."""
    highest = max(s.ends[server] for server in range(k.servers))

    def is_below() -> bool:
        return s.committed <= highest

    return is_below()


SPEC = Spec(
    "logs", TOY, Log,
    (Rule("Write", "{server}", "{server} writes", TOY, (write,), {"server": Member(SERVERS, "server")}, (has_room,)),),
    (invariant("Bounded", is_bounded, "no more than what is held", TOY),),
)  # fmt: skip
WRONG = SPEC.replacing("logs/wrong", TOY, properties=(invariant("FirstHolds", one_server_holds_it, "server 0 holds it", TOY),))


def test_the_engines_agree() -> None:
    """Local functions read, write, call earlier ones and see what the function around them sees, in both engines alike."""
    for servers in (1, 2, 3):
        result = check(SPEC, {"servers": servers}, engine="both", deadlock=False)
        assert (result.verdict, result.distinct) == ("holds", 3**servers)


def test_a_late_value_is_seen() -> None:
    """A captured name means what it means when the call is made, not when the function is defined."""
    source = source_of(write)
    assert [call.__name__ for call in source.calls] == ["write_is_held", "write_raise_to"]
    assert source.writes
    assert source_of(source.calls[0]).parameters == ("k", "s", "index")


def test_a_violation_names_the_local_function() -> None:
    """The reason of a violation goes into the local function that decides."""
    result = check(WRONG, {"servers": 3}, deadlock=False)
    trace = trace_of(result, "FirstHolds")
    assert trace is not None
    assert [reason.because for reason in reasons(trace, WRONG)][-1] == "s.ends[server] < s.committed"


def test_tlc_finds_the_same(tmp_path: Path) -> None:
    """Exported to TLA+, local functions are operators, and TLC finds as many states."""
    agree(WRONG, {"servers": 3}, tmp_path)
