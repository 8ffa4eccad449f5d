"""Machines as state charts of other tools: PlantUML, and SCXML (W3C Recommendation of 1 September 2015).

Depends on rows only. Guards and effects are names; PlantUML prints them, and SCXML has guards as conditions on data, and effects as
events that are raised.
"""

from __future__ import annotations

from xml.etree import ElementTree

from kafka_spec.spec.vocabulary.table import Machine, Row, SpecError, name_of

SCXML = "http://www.w3.org/2005/07/scxml"


def plantuml_text(machine: Machine) -> str:
    """Return a state diagram of PlantUML, with an arrow for each source of each row."""
    lines = ["@startuml", f"title {machine.name}{f', Kafka {machine.era}' if machine.era else ''}", "hide empty description"]
    lines += [f"state {state.name}" for state in machine.states]
    lines += [f"[*] --> {machine.initial.name}"]
    for row in machine.rows:
        arrow = "-[dashed]->" if row.kind == "initialisation" else "-->"
        lines += [f"{source.name} {arrow} {row.target.name} : {_label(row)}" for source in row.sources]
    return "\n".join([*lines, "@enduml", ""])


def scxml_text(machine: Machine) -> str:
    """Return a state chart in SCXML, whose events are the triggers; an interpreter tries the rows of a state in their order.

    The guard `g` is the datum `guard_g`, 0 until the embedding program sets it to 1; conditions compare with `== 1` and `== 0`,
    which mean the same in ECMAScript and in Python. The effect `e` raises the event `effect-e` before the state changes, which no
    transition takes, as a trigger has no hyphen. No state of the machine is final: each may be left.

    Raises:
        SpecError: a trigger is not an identifier, so SCXML would read several events, or another one, in it.
    """
    if odd := [trigger for trigger in machine.triggers if not trigger.isidentifier()]:
        raise SpecError(f"machine {machine.name}: SCXML cannot name the trigger {odd[0]!r}; write an identifier")
    ElementTree.register_namespace("", SCXML)
    root = ElementTree.Element(f"{{{SCXML}}}scxml", version="1.0", name=machine.name, initial=machine.initial.name)
    root.set("datamodel", "ecmascript")
    if guards := sorted({name_of(guard) for row in machine.rows for guard in (*row.guards, *row.unless)}):
        data = ElementTree.SubElement(root, f"{{{SCXML}}}datamodel")
        for guard in guards:
            ElementTree.SubElement(data, f"{{{SCXML}}}data", id=f"guard_{guard}", expr="0")
    for state in machine.states:
        place = ElementTree.SubElement(root, f"{{{SCXML}}}state", id=state.name)
        for row in machine.rows:
            if state in row.sources:
                _transition(place, row)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _transition(place: ElementTree.Element, row: Row) -> None:
    step = ElementTree.SubElement(place, f"{{{SCXML}}}transition", event=row.trigger, target=row.target.name)
    if conditions := _conditions(row):
        step.set("cond", " && ".join(conditions))
    for effect in row.effects:
        ElementTree.SubElement(step, f"{{{SCXML}}}raise", event=f"effect-{name_of(effect)}")


def _conditions(row: Row) -> list[str]:
    holds = [f"guard_{name_of(guard)} == 1" for guard in row.guards]
    return holds + [f"guard_{name_of(guard)} == 0" for guard in row.unless]


def _label(row: Row) -> str:
    parts = [row.trigger]
    parts += [f"[{' and '.join(row.conditions)}]"] if row.conditions else []
    parts += [f"/ {', '.join(map(name_of, row.effects))}"] if row.effects else []
    return "\\n".join(parts)
