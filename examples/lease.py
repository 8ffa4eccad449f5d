"""A lease with fencing tokens: a client that was paused writes after its lease ran out, and the storage refuses it.

    kafka-spec check examples.lease:FENCED          holds
    kafka-spec check examples.lease:UNFENCED        violated: NoOldWrite

M. Kleppmann, "How to do distributed locking" (2016). The same idea is behind Kafka's leader, controller and broker epochs.
"""

from dataclasses import dataclass

from kafka_spec import NONE, ArrayOf, Bound, BoundSet, Member, MemberOrNone, Range, Rule, Spec, field, reachable, step_invariant

REFERENCE = "Kleppmann 2016"
CLIENTS = Bound("clients", 1, 4, "clients that want the lease")
TOKENS = Bound("tokens", 1, 6, "leases granted in all")


@dataclass
class Service:
    """The lock service, the clients and the storage. Token 0 is none."""

    holder: int = field(MemberOrNone(CLIENTS, "client"))
    token: int = field(Range(0, TOKENS))
    """The token of the newest lease."""
    tokens: list[int] = field(ArrayOf(Range(0, TOKENS), CLIENTS, "client"))
    """The token of the lease that each client believes it has."""
    written: int = field(Range(0, TOKENS), kept_by="storage")
    """The token of the last write."""


def is_free(s: Service) -> bool:
    """Nobody has the lease."""
    return s.holder == NONE


def grant(s: Service, client: int) -> None:
    """Grant the lease under the next token."""
    s.token += 1
    s.holder = client
    s.tokens[client] = s.token


def is_held(s: Service) -> bool:
    """Somebody has the lease."""
    return s.holder != NONE


def run_out(s: Service) -> None:
    """Let the lease run out; the client that had it does not notice."""
    s.holder = NONE


def has_token(s: Service, client: int) -> bool:
    """The client believes that it has the lease."""
    return s.tokens[client] > 0


def token_is_not_old(s: Service, client: int) -> bool:
    """The storage has seen no larger token."""
    return s.tokens[client] >= s.written


def write(s: Service, client: int) -> None:
    """Write, under the client's token."""
    s.written = s.tokens[client]


def notice(s: Service, client: int) -> None:
    """Give the lease up."""
    s.tokens[client] = 0


def no_old_write(before: Service, after: Service) -> bool:
    """A write never follows one with a larger token."""
    return after.written >= before.written


def second_client_writes(s: Service) -> bool:
    """A write with the second token was accepted."""
    return s.written == 2


WHO = {"client": Member(CLIENTS, "client")}
GRANT = Rule("Grant", "lock service", "{client} gets the lease", REFERENCE, (grant,), WHO, (is_free,))
RUN_OUT = Rule("RunOut", "lock service", "the lease runs out", REFERENCE, (run_out,), {}, (is_held,), kind="fault")
WRITE = Rule("Write", "{client}", "{client} writes", REFERENCE, (write,), WHO, (has_token, token_is_not_old))
NOTICE = Rule("Notice", "{client}", "{client} gives the lease up", REFERENCE, (notice,), WHO, (has_token,))

FENCED = Spec(
    "lease",
    "a lease whose holder may be paused, and a storage that compares tokens",
    Service,
    (GRANT, RUN_OUT, WRITE, NOTICE),
    (
        step_invariant("NoOldWrite", no_old_write, "a write never follows one with a larger token", REFERENCE),
        reachable("SecondClientWrites", second_client_writes, "a write with the second token is possible", REFERENCE),
    ),
    bound_sets=(BoundSet("two", {"clients": 2, "tokens": 3}, "two clients, three leases"),),
)
UNFENCED = FENCED.replacing(
    "unfenced_lease", "a storage that does not compare tokens", rules=(WRITE.without_guard("token_is_not_old"),)
)
