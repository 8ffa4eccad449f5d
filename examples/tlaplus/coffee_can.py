"""The coffee can: two beans are taken out and one is put back, until one is left (CoffeeCan/CoffeeCan.tla)."""

from dataclasses import dataclass

from kafka_spec import Bound, BoundSet, Constants, Range, Rule, Spec, eventually, field, step_invariant

BEANS = Bound("beans", 1, 3000, "beans at first, at most")


@dataclass
class Can:
    """Beans of two colours."""

    black: int = field(Range(0, BEANS))
    white: int = field(Range(0, BEANS))


def is_possible(black: int, white: int, k: Constants) -> bool:
    """There is a bean, and there is room for all."""
    return 0 < black + white <= k.beans


def fill(s: Can, black: int, white: int) -> None:
    """Fill the can."""
    s.black = black
    s.white = white


def two_are_black(s: Can) -> bool:
    """There are two black beans."""
    return s.black >= 2


def two_are_white(s: Can) -> bool:
    """There are two white beans."""
    return s.white >= 2


def there_are_both(s: Can) -> bool:
    """There are beans of both colours."""
    return s.black >= 1 and s.white >= 1


def take_black(s: Can) -> None:
    """Take a black bean out."""
    s.black -= 1


def exchange_white(s: Can) -> None:
    """Take two white beans out, and put a black one in."""
    s.white -= 2
    s.black += 1


def fewer_beans(before: Can, after: Can) -> bool:
    """There are fewer beans."""
    return after.black + after.white < before.black + before.white


def whites_keep_parity(before: Can, after: Can) -> bool:
    """The number of white beans stays odd, or even."""
    return before.white % 2 == after.white % 2


def one_is_left(s: Can) -> bool:
    """One bean is left."""
    return s.black + s.white == 1


COFFEE_CAN = Spec(
    "coffee can",
    "beans are taken out until one is left",
    Can,
    (
        Rule("TwoBlack", "hand", "of two black beans one goes back", "", (take_black,), {}, (two_are_black,)),
        Rule("TwoWhite", "hand", "for two white beans a black one goes back", "", (exchange_white,), {}, (two_are_white,)),
        Rule("Both", "hand", "of two colours the white one goes back", "", (take_black,), {}, (there_are_both,)),
    ),
    (
        step_invariant("FewerBeans", fewer_beans, "there are ever fewer beans"),
        step_invariant("WhitesKeepParity", whites_keep_parity, "the parity of white beans stays"),
        eventually("OneIsLeft", one_is_left, "one bean is left in the end"),
    ),
    start=Rule(
        "Fill", "hand", "the can is filled", "", (fill,), {"black": Range(0, BEANS), "white": Range(0, BEANS)}, (is_possible,)
    ),
    final=one_is_left,
    bound_sets=(BoundSet("tlc", {"beans": 1000}, "the bounds of the original"),),
)
