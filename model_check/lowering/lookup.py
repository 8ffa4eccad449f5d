"""Compiles lookups in constants that are data: a switch for each place, inside the case of the place before it."""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from kafka_spec.model_check.lowering.function import FunctionCode
from kafka_spec.model_check.lowering.values import I1, I64, ZERO
from kafka_spec.spec.language import tree


def lookup(f: FunctionCode, node: tree.Lookup) -> ir.Value:
    """Return the number at some places; where there is none, record a fault and return 0."""
    places = [f.number(place) for place in node.places]
    number, found = f.slot(I64, ZERO), f.slot(I1, I1(0))
    out = f.code.append_basic_block("looked_up")
    _switch(f, node.table, places, number, found, out)
    f.b.position_at_end(out)
    f.note(f.b.load(found), node, "a constant has nothing at this place")
    return f.b.load(number)


def _switch(
    f: FunctionCode, table: tree.Table, places: Sequence[ir.Value], number: ir.Value, found: ir.Value, out: ir.Block
) -> None:
    """Find a place in a table, store what is there, and branch to `out`."""
    if table.optional:
        f.b.store(I1(1), found)
    switch = f.b.switch(places[0], out)
    for place, value in table.entries:
        case = f.code.append_basic_block("place")
        switch.add_case(I64(place), case)
        if table.counts_back:
            switch.add_case(I64(place - len(table.entries)), case)
        f.b.position_at_end(case)
        if isinstance(value, tree.Table):
            _switch(f, value, places[1:], number, found, out)
        else:
            f.b.store(I64(value), number)
            f.b.store(I1(1), found)
            f.b.branch(out)
