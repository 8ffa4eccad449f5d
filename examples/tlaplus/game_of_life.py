"""Conway's game of life on a small board (GameOfLife/GameOfLife.tla)."""

from dataclasses import dataclass

from kafka_spec import NO_MEMBERS, Bound, BoundSet, Constants, Rule, SetOf, Spec, contains, field, including, reachable

CELLS = Bound("cells", 1, 25, "cells of the board")
SIDE = Bound("side", 1, 5, "cells of a side")


@dataclass
class Board:
    """The cells that live, by row and column."""

    living: int = field(SetOf(CELLS))


def begin(s: Board, living: int) -> None:
    """Any cells live."""
    s.living = living


def neighbours(living: int, cell: int, side: int) -> int:
    """Return how many cells around one live."""
    count = 0
    for row in range(max(0, cell // side - 1), min(side, cell // side + 2)):
        for column in range(max(0, cell % side - 1), min(side, cell % side + 2)):
            if row * side + column != cell and contains(living, row * side + column):
                count += 1
    return count


def live_on(s: Board, k: Constants) -> None:
    """A cell lives on with two or three neighbours, and comes to life with three."""
    living = NO_MEMBERS
    for cell in range(k.cells):
        around = neighbours(s.living, cell, k.side)
        if around == 3 or (around == 2 and contains(s.living, cell)):
            living = including(living, cell)
    s.living = living


def is_dead(s: Board) -> bool:
    """No cell lives."""
    return s.living == NO_MEMBERS


GAME_OF_LIFE = Spec(
    "game of life",
    "cells live and die",
    Board,
    (Rule("LiveOn", "board", "the next generation", "", (live_on,)),),
    (reachable("Dead", is_dead, "no cell lives"),),
    more_bounds=(SIDE,),
    start=Rule("Begin", "board", "{living} live", "", (begin,), {"living": SetOf(CELLS)}),
    bound_sets=(BoundSet("tlc", {"cells": 16, "side": 4}, "the bounds of the original"),),
)
