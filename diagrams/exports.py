"""Exports of tables: a configuration for the library `transitions`, and a TLA+ module.

Depends on rows only. Both formats name guards and effects without their definitions; the user of the export supplies those.
"""

from __future__ import annotations

import json

from kafka_spec.spec.vocabulary.table import Machine, Row, SpecError, name_of

TLA_WORDS = {
    "Init",
    "InitialState",
    "LegalPairs",
    "LegalStep",
    "Next",
    "NextWithSeeds",
    "OnlyLegal",
    "Seeds",
    "Spec",
    "SpecWithSeeds",
    "States",
    "TypeOK",
    "current",
}


def transitions_text(machine: Machine) -> str:
    """Return the configuration for `transitions.Machine(model, **configuration)`, as JSON.

    Guards become `conditions`, and guards that must not hold become `unless`. Effects run in `before`, so an exception leaves the
    state unchanged. The library's default transitions to any state, which bypass the guards, are turned off.
    """
    configuration = {
        "name": machine.name,
        "states": [state.name for state in machine.states],
        "initial": machine.initial.name,
        "auto_transitions": False,
        "transitions": [
            {
                "trigger": row.trigger,
                "source": [source.name for source in row.sources],
                "dest": row.target.name,
                "conditions": [name_of(guard) for guard in row.guards],
                "unless": [name_of(guard) for guard in row.unless],
                "before": [name_of(effect) for effect in row.effects],
            }
            for row in machine.rows
        ],
    }
    return json.dumps(configuration, indent=1) + "\n"


def tla_text(machine: Machine, module: str = "") -> str:
    """Return a TLA+ module: states, initial state, an action for each trigger, legal pairs.

    Guards and effects are comments, so the module allows every transition that some guards allow. `Spec` moves by legal pairs,
    `SpecWithSeeds` also by start-up and shutdown. TLC needs a configuration: `SPECIFICATION Spec INVARIANT TypeOK`.

    Raises:
        SpecError: a trigger's name is reserved by the module.
    """
    if taken := [trigger for trigger in machine.triggers if trigger in TLA_WORDS]:
        raise SpecError(
            f"machine {machine.name}: trigger {taken[0]} is a name that the module of TLA+ needs itself; give it another"
        )
    actions = _actions(machine)
    lines = [
        *_tla_states(machine, module),
        *(line for (name, _), rows in actions.items() for line in _action(name, rows)),
        "Init == current = InitialState",
        _choice("Next", [name for name, kind in actions if kind == "transition"]),
        _choice("Seeds", [name for name, kind in actions if kind == "initialisation"]),
        "NextWithSeeds == Next \\/ Seeds",
        "Spec == Init /\\ [][Next]_current",
        "SpecWithSeeds == Init /\\ [][NextWithSeeds]_current",
        "",
        "TypeOK == current \\in States",
        "LegalStep == <<current, current'>> \\in LegalPairs",
        "OnlyLegal == [][LegalStep]_current",
        "====",
        "",
    ]
    return "\n".join(lines)


def _tla_states(machine: Machine, module: str) -> list[str]:
    """Return the beginning of a module: its states and legal pairs."""
    states = [state.name for state in machine.states]
    return [
        f"---- MODULE {module or machine.name} ----",
        f"\\* {machine.name}{f', Kafka {machine.era}' if machine.era else ''}. Source: {machine.reference}",
        "VARIABLE current",
        "",
        f"States == {{{', '.join(map(_text, states))}}}",
        f"InitialState == {_text(machine.initial.name)}",
        "",
        "LegalPairs == {",
        ",\n".join(f"  <<{_text(source.name)}, {_text(target.name)}>>" for source, target in machine.legal_pairs),
        "}",
        "",
    ]


def _actions(machine: Machine) -> dict[tuple[str, str], list[Row]]:
    """Return the rows by (name of the action, kind); a trigger of both kinds has two actions."""
    actions: dict[tuple[str, str], list[Row]] = {}
    for row in machine.rows:
        both = len({other.kind for other in machine.rows_of(row.trigger)}) == 2
        name = f"{row.trigger}_seeds" if both and row.kind == "initialisation" else row.trigger
        actions.setdefault((name, row.kind), []).append(row)
    return actions


def _action(name: str, rows: list[Row]) -> list[str]:
    lines = [f"{name} =="]
    for row in rows:
        sources = ", ".join(_text(source.name) for source in row.sources)
        comment = row.label.removeprefix(row.trigger).strip()
        lines += [f"  \\* {comment}"] if comment else []
        lines.append(f"  \\/ current \\in {{{sources}}} /\\ current' = {_text(row.target.name)}")
    return [*lines, ""]


def _choice(name: str, actions: list[str]) -> str:
    return f"{name} == " + (" \\/ ".join(actions) or "FALSE")


def _text(name: str) -> str:
    return f'"{name}"'
