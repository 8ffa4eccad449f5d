"""Clients ask for sets of resources, get them bit by bit, and return them (allocator/SimpleAllocator.tla)."""

from dataclasses import dataclass

from kafka_spec import NO_MEMBERS, ArrayOf, Bound, BoundSet, Constants, Member, Rule, SetOf, Spec, Symmetric, field, invariant

CLIENTS = Bound("clients", 1, 4, "clients")
RESOURCES = Bound("resources", 1, 4, "resources")
SOME = {"client": Member(CLIENTS, "client"), "some": SetOf(RESOURCES)}


@dataclass
class Shop:
    """What each client waits for, and what it has."""

    wanted: list[int] = field(ArrayOf(SetOf(RESOURCES), CLIENTS, "client"))
    held: list[int] = field(ArrayOf(SetOf(RESOURCES), CLIENTS, "client"))


def is_some(some: int) -> bool:
    """There is one at least."""
    return some != NO_MEMBERS


def is_idle(s: Shop, client: int) -> bool:
    """The client has nothing and waits for nothing."""
    return s.wanted[client] == NO_MEMBERS and s.held[client] == NO_MEMBERS


def request(s: Shop, client: int, some: int) -> None:
    """Ask for some resources."""
    s.wanted[client] = some


def are_wanted_and_free(s: Shop, client: int, some: int, k: Constants) -> bool:
    """The client waits for them, and nobody has one of them."""
    return some & ~s.wanted[client] == 0 and all(some & s.held[other] == 0 for other in range(k.clients))


def allocate(s: Shop, client: int, some: int) -> None:
    """Give a client some resources."""
    s.held[client] |= some
    s.wanted[client] &= ~some


def are_held(s: Shop, client: int, some: int) -> bool:
    """The client has them."""
    return some & ~s.held[client] == 0


def give_back(s: Shop, client: int, some: int) -> None:
    """Return some resources."""
    s.held[client] &= ~some


def nobody_shares(s: Shop, k: Constants) -> bool:
    """No resource is with two clients."""
    return all(s.held[one] & s.held[other] == 0 for one in range(k.clients) for other in range(one))


ALLOCATOR = Spec(
    "allocator",
    "clients share resources",
    Shop,
    (
        Rule("Request", "{client}", "{client} asks for {some}", "", (request,), SOME, (is_some, is_idle)),
        Rule("Allocate", "shop", "{client} gets {some}", "", (allocate,), SOME, (is_some, are_wanted_and_free)),
        Rule("Return", "{client}", "{client} returns {some}", "", (give_back,), SOME, (is_some, are_held)),
    ),
    (invariant("NobodyShares", nobody_shares, "no resource is with two clients"),),
    normal_form=(Symmetric(CLIENTS, RESOURCES),),
    bound_sets=(BoundSet("tlc", {"clients": 3, "resources": 2}, "the bounds of the original"),),
)
