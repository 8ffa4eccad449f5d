"""Each named decision of an era is evaluated in one place: model and implementation pass it to the same function.

A use of `k.NAME` is *passed on* if it is an argument of a function of spec/decisions/ (election.py, log.py, fencing.py,
reassignment.py, deletion.py), next to an argument that the decision applies to. Any other use is a *branch*: a comparison, an
alias, or an argument of a function that takes only the decision. `python -m tests.test_decisions_once` prints the branches.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from kafka_spec.spec.zookeeper.fixed import FIXED

ROOT = Path(__file__).parent.parent
NAMES = frozenset(decision.name for decision in FIXED.decisions)
SHARED = tuple(f"kafka_spec.spec.decisions.{module}" for module in ("election", "log", "fencing", "reassignment", "deletion"))
MODEL, IMPLEMENTATION = "spec/zookeeper", "impl"

BRANCHED_TWICE = {
    "controller_election": "which operations ZooKeeper is asked for, in how many steps: what is done, and what replay compares",
    "controller_writes_fenced": "the implementation sends a check with its write, the model is ZooKeeper and evaluates that check",
    "deletion_thread": "the thread is a rule of its own in the model, and an event in the implementation",
    "giving_up": "the same check, of the write that deletes /controller",
    "reassignment": "which requests there are, what the topic znode is written with, and whom the last LeaderAndIsr goes to",
}
"""The decisions on which both sides branch, and why."""


def is_decision(node: ast.expr) -> bool:
    """Whether an expression is a named decision, `k.NAME` for any `k`, converted to a number or not."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "int":
        return is_decision(node.args[0])
    return isinstance(node, ast.Attribute) and node.attr in NAMES


def shared_functions(tree: ast.Module) -> set[str]:
    """Return the names under which a module imports the functions with decisions as arguments."""
    imports = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module in SHARED)
    return {alias.asname or alias.name for node in imports for alias in node.names}


def branches_in(text: str) -> Iterator[tuple[str, int]]:
    """Yield the decisions that a module branches on, each with its line."""
    tree = ast.parse(text)
    shared = shared_functions(tree)
    handed_on: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in shared:
            if not all(is_decision(argument) or isinstance(argument, ast.Constant) for argument in node.args):
                handed_on.update(inner for argument in node.args if is_decision(argument) for inner in ast.walk(argument))
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in NAMES and node not in handed_on:
            yield node.attr, node.lineno


def branches(folder: str) -> dict[str, list[str]]:
    """Return the places where the modules of a folder branch on a decision, by its name.

    The normal form decides nothing: it asks in which eras states are alike.
    """
    found = defaultdict(list)
    for path in sorted({*(ROOT / folder).rglob("*.py")} - {ROOT / MODEL / "normal_form.py"}):
        for name, line in branches_in(path.read_text()):
            found[name].append(f"{path.relative_to(ROOT)}:{line}")
    return found


def test_a_comparison_is_a_branch_and_an_argument_is_none() -> None:
    """A comparison, an alias and a function of only the decision are branches; a decision that is passed on is not."""
    text = """
from kafka_spec.spec.decisions.log import may_join_isr
from elsewhere import other
may_join_isr(end, 0, self.k.truncation, int(k.follower_skip))
other(end, k.dead_replicas)
may_join_isr(k.giving_up, 1)
alias = k.bad_version
if self._k.epoch_watch: pass
"""
    assert sorted(name for name, _ in branches_in(text)) == ["bad_version", "dead_replicas", "epoch_watch", "giving_up"]


def test_decisions_are_branched_on_once() -> None:
    """Both sides branch on no decision but those with a reason."""
    model, implementation = branches(MODEL), branches(IMPLEMENTATION)
    assert sorted(model.keys() & implementation.keys()) == sorted(BRANCHED_TWICE)
    assert all(BRANCHED_TWICE.values())
    assert len(BRANCHED_TWICE) <= 5


def main() -> None:
    """Print the decisions that each side branches on."""
    model, implementation = branches(MODEL), branches(IMPLEMENTATION)
    twice = model.keys() & implementation.keys()
    for name in sorted(NAMES):
        mark = "twice" if name in twice else "     "
        print(f"{mark} {name:26} model: {', '.join(model[name]) or '-'}; implementation: {', '.join(implementation[name]) or '-'}")
    print(f"{len(twice)} of {len(NAMES)} decisions are branched on by both")


if __name__ == "__main__":
    main()
