"""Paxos commit: a transaction commits by a consensus for each resource manager (transaction_commit/PaxosCommit.tla)."""

import enum
from dataclasses import dataclass

from kafka_spec import (
    ArrayOf,
    Bound,
    BoundSet,
    Constants,
    ElementOf,
    Member,
    OneOf,
    Range,
    Rule,
    SetOf,
    Spec,
    add,
    anywhere,
    contains,
    field,
    has,
    invariant,
    size,
)

MANAGERS = Bound("managers", 1, 3, "resource managers")
ACCEPTORS = Bound("acceptors", 1, 3, "acceptors")
BALLOTS = Bound("ballots", 0, 2, "ballots after the first")
MANAGER = {"manager": Member(MANAGERS, "manager")}
LATER = {**MANAGER, "ballot": Range(1, BALLOTS)}


class State(enum.IntEnum):
    """What a resource manager has decided."""

    WORKING = 0
    PREPARED = 1
    COMMITTED = 2
    ABORTED = 3


class Value(enum.IntEnum):
    """What an acceptor has accepted."""

    NOTHING = 0
    PREPARED = 1
    ABORTED = 2


class Kind(enum.IntEnum):
    """The kinds of messages."""

    PHASE_1A = 0
    PHASE_1B = 1
    PHASE_2A = 2
    PHASE_2B = 3
    COMMIT = 4
    ABORT = 5


@dataclass
class Message:
    """A message about the consensus of a manager; a message that was sent stays."""

    kind: int = field(OneOf(Kind))
    manager: int = field(Member(MANAGERS, "manager"))
    acceptor: int = field(Member(ACCEPTORS, "acceptor"))
    ballot: int = field(Range(0, BALLOTS))
    accepted: int = field(Range(-1, BALLOTS, 0))
    value: int = field(OneOf(Value))


@dataclass
class Acceptor:
    """What an acceptor promised and accepted in one consensus."""

    promised: int = field(Range(0, BALLOTS))
    ballot: int = field(Range(-1, BALLOTS))
    value: int = field(OneOf(Value))


@dataclass
class Transaction:
    """The managers, the acceptors of the consensus of each, and all messages."""

    managers: list[int] = field(ArrayOf(OneOf(State), MANAGERS, "manager"))
    acceptors: list[list[Acceptor]] = field(ArrayOf(ArrayOf(Acceptor, ACCEPTORS, "acceptor"), MANAGERS, "manager"))
    messages: set[Message] = field(SetOf(Message, 28))


def works(s: Transaction, manager: int) -> bool:
    """It works."""
    return s.managers[manager] == State.WORKING


def prepare(s: Transaction, manager: int) -> None:
    """Prepare, and propose that in the first ballot."""
    s.managers[manager] = State.PREPARED
    add(s.messages, Message(Kind.PHASE_2A, manager, value=Value.PREPARED))


def abort(s: Transaction, manager: int) -> None:
    """Abort, and propose that in the first ballot."""
    s.managers[manager] = State.ABORTED
    add(s.messages, Message(Kind.PHASE_2A, manager, value=Value.ABORTED))


def commit_is_decided(s: Transaction) -> bool:
    """It is decided to commit."""
    return has(s.messages, Message(Kind.COMMIT))


def commit(s: Transaction, manager: int) -> None:
    """Commit."""
    s.managers[manager] = State.COMMITTED


def abort_is_decided(s: Transaction) -> bool:
    """It is decided to abort."""
    return has(s.messages, Message(Kind.ABORT))


def hear_of_abort(s: Transaction, manager: int) -> None:
    """Abort."""
    s.managers[manager] = State.ABORTED


def ask(s: Transaction, manager: int, ballot: int) -> None:
    """Begin a later ballot."""
    add(s.messages, Message(Kind.PHASE_1A, manager, ballot=ballot))


def is_asked(m: Message) -> bool:
    """It begins a ballot."""
    return m.kind == Kind.PHASE_1A


def promised_less(s: Transaction, m: Message, acceptor: int) -> bool:
    """The acceptor has promised no such ballot."""
    return s.acceptors[m.manager][acceptor].promised < m.ballot


def promise(s: Transaction, m: Message, acceptor: int) -> None:
    """Promise the ballot, and say what was accepted."""
    s.acceptors[m.manager][acceptor].promised = m.ballot
    accepted, value = s.acceptors[m.manager][acceptor].ballot, s.acceptors[m.manager][acceptor].value
    add(s.messages, Message(Kind.PHASE_1B, m.manager, acceptor, m.ballot, accepted, value))


def is_unproposed(s: Transaction, manager: int, ballot: int) -> bool:
    """Nothing is proposed in this ballot."""
    return all(m.kind != Kind.PHASE_2A or m.ballot != ballot or m.manager != manager for m in s.messages)


def is_promise(m: Message, manager: int, ballot: int, quorum: int) -> bool:
    """It is a promise of a member of the quorum."""
    return m.kind == Kind.PHASE_1B and m.manager == manager and m.ballot == ballot and contains(quorum, m.acceptor)


def is_majority(quorum: int, k: Constants) -> bool:
    """It is a smallest majority."""
    return size(quorum) == k.acceptors // 2 + 1


def all_promised(s: Transaction, manager: int, ballot: int, quorum: int) -> bool:
    """All members of the quorum have promised the ballot."""
    return sum(1 for m in s.messages if is_promise(m, manager, ballot, quorum)) == size(quorum)


def propose(s: Transaction, manager: int, ballot: int, quorum: int) -> None:
    """Propose the value that was accepted last, or to abort."""
    last = max((m.accepted for m in s.messages if is_promise(m, manager, ballot, quorum)), default=-1)
    value = Value.ABORTED
    for m in s.messages:
        if last >= 0 and is_promise(m, manager, ballot, quorum) and m.accepted == last:
            value = m.value
    add(s.messages, Message(Kind.PHASE_2A, manager, ballot=ballot, value=value))


def is_proposed(m: Message) -> bool:
    """It is a proposal."""
    return m.kind == Kind.PHASE_2A


def promised_no_more(s: Transaction, m: Message, acceptor: int) -> bool:
    """The acceptor has promised no later ballot."""
    return s.acceptors[m.manager][acceptor].promised <= m.ballot


def accept(s: Transaction, m: Message, acceptor: int) -> None:
    """Accept the proposal."""
    s.acceptors[m.manager][acceptor].promised = m.ballot
    s.acceptors[m.manager][acceptor].ballot = m.ballot
    s.acceptors[m.manager][acceptor].value = m.value
    add(s.messages, Message(Kind.PHASE_2B, m.manager, acceptor, m.ballot, value=m.value))


def is_accepted(m: Message, manager: int, ballot: int, value: int) -> bool:
    """It says that an acceptor has accepted the value."""
    return m.kind == Kind.PHASE_2B and m.manager == manager and m.ballot == ballot and m.value == value


def is_decided(s: Transaction, manager: int, value: int, k: Constants) -> bool:
    """A majority has accepted the value in one ballot."""
    return any(
        2 * sum(1 for m in s.messages if is_accepted(m, manager, ballot, value)) > k.acceptors for ballot in range(k.ballots + 1)
    )


def all_are_prepared(s: Transaction, k: Constants) -> bool:
    """All managers are prepared, by consensus."""
    return all(is_decided(s, manager, Value.PREPARED, k) for manager in range(k.managers))


def decide_to_commit(s: Transaction) -> None:
    """Say that the transaction commits."""
    add(s.messages, Message(Kind.COMMIT))


def one_aborts(s: Transaction, k: Constants) -> bool:
    """A manager aborts, by consensus."""
    return any(is_decided(s, manager, Value.ABORTED, k) for manager in range(k.managers))


def decide_to_abort(s: Transaction) -> None:
    """Say that the transaction aborts."""
    add(s.messages, Message(Kind.ABORT))


def is_consistent(s: Transaction) -> bool:
    """Not one commits and another aborts."""
    return not (any(one == State.COMMITTED for one in s.managers) and any(one == State.ABORTED for one in s.managers))


OF_ACCEPTOR = {"m": ElementOf("messages"), "acceptor": Member(ACCEPTORS, "acceptor")}
PAXOS_COMMIT = Spec(
    "paxos commit",
    "a transaction commits by consensus",
    Transaction,
    (
        Rule("Prepare", "{manager}", "{manager} prepares", "", (prepare,), MANAGER, (works,)),
        Rule("Abort", "{manager}", "{manager} aborts", "", (abort,), MANAGER, (works,)),
        Rule("Commit", "{manager}", "{manager} commits", "", (commit,), MANAGER, (commit_is_decided,)),
        Rule("HearOfAbort", "{manager}", "{manager} aborts, too", "", (hear_of_abort,), MANAGER, (abort_is_decided,)),
        Rule("Ask", "leader", "ballot {ballot} of {manager} begins", "", (ask,), LATER),
        Rule(
            "Propose",
            "leader",
            "a value is proposed in ballot {ballot} of {manager}",
            "",
            (propose,),
            {**LATER, "quorum": SetOf(ACCEPTORS)},
            (is_unproposed, is_majority, all_promised),
        ),
        Rule("DecideToCommit", "leader", "all commit", "", (decide_to_commit,), {}, (all_are_prepared,)),
        Rule("DecideToAbort", "leader", "all abort", "", (decide_to_abort,), {}, (one_aborts,)),
        Rule("Promise", "{acceptor}", "{acceptor} promises", "", (promise,), OF_ACCEPTOR, (is_asked, promised_less)),
        Rule("Accept", "{acceptor}", "{acceptor} accepts", "", (accept,), OF_ACCEPTOR, (is_proposed, promised_no_more)),
    ),
    (invariant("Consistent", is_consistent, "not one commits and another aborts"),),
    final=anywhere,
    bound_sets=(BoundSet("tlc", {"managers": 2, "acceptors": 3, "ballots": 1}, "the bounds of the original"),),
)
