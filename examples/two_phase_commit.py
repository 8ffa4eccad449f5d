"""Two-phase commit: a transaction manager and its resource managers decide together whether to commit.

    kafka-spec check examples.two_phase_commit:TWO_PHASE_COMMIT --bound resource_managers=3      holds, 288 states
    kafka-spec check examples.two_phase_commit:TWO_PHASE_COMMIT --bounds seven --normal-form       920 orbits of 296,448 states
    kafka-spec check examples.two_phase_commit:HASTY                                             violated: Consistent
    kafka-spec refines examples.two_phase_commit:TWO_PHASE_COMMIT                                implements transaction_commit

The protocol of J. Gray and L. Lamport, "Consensus on transaction commit" (ACM TODS 31(1), 2006); the state counts are those
of their TLA+ module TwoPhase, in which messages are never lost and may be read many times. It implements TCommit, which says
what a commit is, and not how the managers agree on it.
"""

from dataclasses import dataclass
from enum import IntEnum

from kafka_spec import (
    ArrayOf,
    Bound,
    BoundSet,
    Constants,
    Flag,
    Member,
    OneOf,
    Refinement,
    Rule,
    SetOf,
    Spec,
    Symmetric,
    anywhere,
    contains,
    field,
    including,
    invariant,
    reachable,
)

REFERENCE = "Gray and Lamport 2006, module TwoPhase"
RMS = Bound("resource_managers", 1, 8, "resource managers that take part")


A_MANAGER = Member(RMS, "resource manager")


class Vote(IntEnum):
    """What a resource manager does with its part of the transaction."""

    WORKING = 0
    PREPARED = 1
    COMMITTED = 2
    ABORTED = 3


class Decision(IntEnum):
    """What the transaction manager has decided."""

    UNDECIDED = 0
    COMMIT = 1
    ABORT = 2


@dataclass
class Transaction:
    """The managers, and the messages that were ever sent."""

    votes: list[Vote] = field(ArrayOf(OneOf(Vote), RMS, "resource manager"))
    decision: Decision = field(OneOf(Decision))
    prepared: int = field(SetOf(A_MANAGER))
    """The resource managers whose Prepared message the transaction manager has read."""
    prepared_sent: int = field(SetOf(A_MANAGER))
    commit_sent: int = field(Flag())
    abort_sent: int = field(Flag())


# ---------------------------------------------------------------------------------------------------------------------
# Guards and effects


def is_working(s: Transaction, rm: int) -> bool:
    """The resource manager has not decided."""
    return s.votes[rm] == Vote.WORKING


def prepare(s: Transaction, rm: int) -> None:
    """Promise to commit if asked to, and say so."""
    s.votes[rm] = Vote.PREPARED
    s.prepared_sent = including(s.prepared_sent, rm)


def abort_alone(s: Transaction, rm: int) -> None:
    """Abort without asking anybody."""
    s.votes[rm] = Vote.ABORTED


def is_undecided(s: Transaction) -> bool:
    """The transaction manager has not decided."""
    return s.decision == Decision.UNDECIDED


def has_sent_prepared(s: Transaction, rm: int) -> bool:
    """The resource manager has sent Prepared."""
    return contains(s.prepared_sent, rm)


def count_prepared(s: Transaction, rm: int) -> None:
    """Note that the resource manager is prepared."""
    s.prepared = including(s.prepared, rm)


def all_are_prepared(s: Transaction, k: Constants) -> bool:
    """Every resource manager is known to be prepared."""
    return all(contains(s.prepared, rm) for rm in range(k.resource_managers))


def decide_commit(s: Transaction) -> None:
    """Decide to commit, and tell all."""
    s.decision = Decision.COMMIT
    s.commit_sent = 1


def decide_abort(s: Transaction) -> None:
    """Decide to abort, and tell all."""
    s.decision = Decision.ABORT
    s.abort_sent = 1


def commit_was_sent(s: Transaction) -> bool:
    """The transaction manager has sent Commit."""
    return s.commit_sent == 1


def abort_was_sent(s: Transaction) -> bool:
    """The transaction manager has sent Abort."""
    return s.abort_sent == 1


def commit(s: Transaction, rm: int) -> None:
    """Commit."""
    s.votes[rm] = Vote.COMMITTED


def abort(s: Transaction, rm: int) -> None:
    """Abort."""
    s.votes[rm] = Vote.ABORTED


# ---------------------------------------------------------------------------------------------------------------------
# Properties


def consistent(s: Transaction) -> bool:
    """No resource manager has committed while another has aborted."""
    return not (Vote.COMMITTED in s.votes and Vote.ABORTED in s.votes)


def all_commit(s: Transaction) -> bool:
    """Every resource manager has committed."""
    return all(vote == Vote.COMMITTED for vote in s.votes)


# ---------------------------------------------------------------------------------------------------------------------
# What a commit is


@dataclass
class Outcome:
    """What each resource manager does with its part."""

    votes: list[Vote] = field(ArrayOf(OneOf(Vote), RMS, "resource manager"))


def is_prepared(s: Outcome, rm: int) -> bool:
    """The resource manager is prepared."""
    return s.votes[rm] == Vote.PREPARED


def may_prepare(s: Outcome, rm: int) -> bool:
    """The resource manager works on its part."""
    return s.votes[rm] == Vote.WORKING


def may_commit(s: Outcome) -> bool:
    """Every resource manager is prepared, or has committed."""
    return all(vote == Vote.PREPARED or vote == Vote.COMMITTED for vote in s.votes)


def may_abort(s: Outcome, rm: int) -> bool:
    """The resource manager has not decided, and none has committed."""
    return (s.votes[rm] == Vote.WORKING or s.votes[rm] == Vote.PREPARED) and Vote.COMMITTED not in s.votes


def become_prepared(s: Outcome, rm: int) -> None:
    """Be ready for both."""
    s.votes[rm] = Vote.PREPARED


def become_committed(s: Outcome, rm: int) -> None:
    """Commit."""
    s.votes[rm] = Vote.COMMITTED


def become_aborted(s: Outcome, rm: int) -> None:
    """Abort."""
    s.votes[rm] = Vote.ABORTED


def outcome(s: Transaction, a: Outcome) -> None:
    """Leave out the transaction manager and the messages."""
    for rm, vote in enumerate(s.votes):
        a.votes[rm] = vote


TC = "Gray and Lamport 2006, module TCommit"
EACH = {"rm": A_MANAGER}
TRANSACTION_COMMIT = Spec(
    "transaction_commit",
    "resource managers commit together or not at all, however they agree",
    Outcome,
    (
        Rule("Prepare", "{rm}", "{rm} prepares", TC, (become_prepared,), EACH, (may_prepare,)),
        Rule("Commit", "{rm}", "{rm} commits", TC, (become_committed,), EACH, (may_commit, is_prepared)),
        Rule("Abort", "{rm}", "{rm} aborts", TC, (become_aborted,), EACH, (may_abort,)),
    ),
    bound_sets=(BoundSet("three", {"resource_managers": 3}, "34 states"),),
    final=anywhere,
)


# ---------------------------------------------------------------------------------------------------------------------
# The protocol

RM = {"rm": A_MANAGER}
PREPARE = Rule("Prepare", "{rm}", "{rm} prepares", REFERENCE, (prepare,), RM, (is_working,))
ABORT_ALONE = Rule("AbortAlone", "{rm}", "{rm} aborts by itself", REFERENCE, (abort_alone,), RM, (is_working,))
HEAR = Rule(
    "HearPrepared", "manager", "the manager reads that {rm} is prepared", REFERENCE, (count_prepared,), RM,
    (is_undecided, has_sent_prepared),
)  # fmt: skip
COMMIT = Rule(
    "Commit", "manager", "the manager decides to commit", REFERENCE, (decide_commit,), {}, (is_undecided, all_are_prepared)
)
ABORT = Rule("Abort", "manager", "the manager decides to abort", REFERENCE, (decide_abort,), {}, (is_undecided,))
OBEY_COMMIT = Rule("ObeyCommit", "{rm}", "{rm} commits as told", REFERENCE, (commit,), RM, (commit_was_sent,))
OBEY_ABORT = Rule("ObeyAbort", "{rm}", "{rm} aborts as told", REFERENCE, (abort,), RM, (abort_was_sent,))

TWO_PHASE_COMMIT = Spec(
    "two_phase_commit",
    "a transaction manager and its resource managers commit together or not at all",
    Transaction,
    (PREPARE, ABORT_ALONE, HEAR, COMMIT, ABORT, OBEY_COMMIT, OBEY_ABORT),
    (
        invariant("Consistent", consistent, "no resource manager has committed while another has aborted", REFERENCE),
        reachable("AllCommit", all_commit, "a transaction can be committed everywhere", REFERENCE),
    ),
    bound_sets=(
        BoundSet("three", {"resource_managers": 3}, "the size whose count every other checker gives: 288 states"),
        BoundSet("seven", {"resource_managers": 7}, "a larger one: 296,448 states"),
    ),
    refines=(Refinement(TRANSACTION_COMMIT, outcome),),
    normal_form=(Symmetric(RMS),),  # which resource manager is which makes no difference
)

HASTY = TWO_PHASE_COMMIT.replacing(
    "hasty_two_phase_commit",
    "a transaction manager that commits without waiting for all",
    rules=(COMMIT.without_guard("all_are_prepared"),),
)
