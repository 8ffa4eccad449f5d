"""The cigarette smokers: a dealer offers all ingredients but one, and who has that one smokes (CigaretteSmokers.tla)."""

from dataclasses import dataclass

from kafka_spec import (
    NO_MEMBERS,
    ArrayOf,
    Bound,
    BoundSet,
    Constants,
    Flag,
    Member,
    Rule,
    SetOf,
    Spec,
    excluding,
    field,
    first_members,
    including,
    invariant,
)

INGREDIENTS = Bound("ingredients", 2, 6, "ingredients, and smokers who have one each")
MISSING = {"missing": Member(INGREDIENTS, "ingredient")}


@dataclass
class Table:
    """Who smokes, and what the dealer offers."""

    smokes: list[int] = field(ArrayOf(Flag(), INGREDIENTS, "smoker"))
    offer: int = field(SetOf(INGREDIENTS))


def offer(s: Table, missing: int, k: Constants) -> None:
    """Offer all ingredients but one."""
    s.offer = excluding(first_members(k.ingredients), missing)


def is_offered(s: Table) -> bool:
    """Something is offered."""
    return s.offer != NO_MEMBERS


def start_smoking(s: Table, k: Constants) -> None:
    """Who has what is missing takes the offer and smokes."""
    for smoker in range(k.ingredients):
        s.smokes[smoker] = including(s.offer, smoker) == first_members(k.ingredients)
    s.offer = NO_MEMBERS


def is_taken(s: Table) -> bool:
    """Nothing is offered."""
    return s.offer == NO_MEMBERS


def stop_smoking(s: Table, k: Constants) -> None:
    """Stop smoking."""
    for smoker in range(k.ingredients):
        s.smokes[smoker] = 0


def at_most_one_smokes(s: Table) -> bool:
    """At most one smokes."""
    return sum(one for one in s.smokes) <= 1


CIGARETTE_SMOKERS = Spec(
    "cigarette smokers",
    "a dealer offers what one smoker lacks",
    Table,
    (
        Rule("StartSmoking", "smoker", "who has what is missing smokes", "", (start_smoking,), {}, (is_offered,)),
        Rule("StopSmoking", "dealer", "all but {missing} is offered", "", (stop_smoking, offer), MISSING, (is_taken,)),
    ),
    (invariant("AtMostOneSmokes", at_most_one_smokes, "at most one smokes"),),
    start=Rule("Offer", "dealer", "all but {missing} is offered", "", (offer,), MISSING),
    bound_sets=(BoundSet("tlc", {"ingredients": 3}, "the bounds of the original"),),
)
