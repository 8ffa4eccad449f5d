"""The subcommands `draw` and `export`, and the charts that `trace` and `check` show.

Handles files and options; other modules make the pictures. Exit codes are those of the other subcommands; a stale gallery exits 1.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path

from kafka_spec.diagrams.arrows import compared
from kafka_spec.diagrams.choices import choices_dot, choices_markdown
from kafka_spec.diagrams.dot import machine_dot, render
from kafka_spec.diagrams.exports import tla_text, transitions_text
from kafka_spec.diagrams.gallery_files import FOLDER, gallery, stale, write_gallery
from kafka_spec.diagrams.markdown import changes_markdown, machine_markdown
from kafka_spec.diagrams.mermaid import machine_mermaid
from kafka_spec.diagrams.statecharts import plantuml_text, scxml_text
from kafka_spec.model_check.command.find import Models
from kafka_spec.model_check.command.options import (
    AS_EXPECTED,
    MANIFEST,
    VIOLATED,
    add_bound_options,
    add_output_options,
    asked_bounds,
    cores,
    outputs,
    write,
)
from kafka_spec.model_check.command.side_by_side import outcomes
from kafka_spec.model_check.loading import load_object
from kafka_spec.model_check.manifest import read_manifest
from kafka_spec.model_check.named_check import NamedCheck
from kafka_spec.spec.optional_dependencies import needing
from kafka_spec.spec.vocabulary.table import ChoiceTable, Machine, Spec, SpecError
from kafka_spec.spec.vocabulary.table_json import table_text

DRAW_FORMATS = ("mermaid", "dot", "svg", "png", "markdown", "graphml", "json")
ENDINGS = {"json": "json", "transitions": "transitions.json", "tla": "tla", "plantuml": "puml", "scxml": "scxml"}
SCHEMAS = {
    "schema": ("kafka_spec.spec", "table.schema.json"),
    "result-schema": ("kafka_spec.model_check.report", "result.schema.json"),
}
"""The published schemas by format: package and file."""


def add_draw(
    parser: argparse.ArgumentParser,
    catalogue: Mapping[str, Spec],
    machines: Mapping[str, Machine],
    choices: Mapping[str, ChoiceTable],
) -> None:
    """Add the options of `draw`."""
    models = Models(catalogue)
    known = ", ".join((*machines, *choices))
    parser.add_argument("what", nargs="?", metavar="MACHINE|MODEL", help=f"{known}, module:MACHINE, or a model")
    parser.add_argument("--against", metavar="MACHINE", help="draw the differences from this older era")
    parser.add_argument("--by", action="append", default=[], metavar="FIELD", help="for a model: merge states that agree in it")
    parser.add_argument("--gallery", action="store_true", help="write the gallery: all machines, eras, and counterexamples")
    parser.add_argument("--check", action="store_true", help="list the stale files of the gallery, and fail if there are any")
    parser.add_argument("--folder", type=Path, default=FOLDER, metavar="FOLDER", help=f"the gallery's folder (default: {FOLDER})")
    parser.add_argument("--manifest", type=Path, default=MANIFEST, metavar="FILE", help="the manifest of its counterexamples")
    add_bound_options(parser)
    add_output_options(parser, DRAW_FORMATS)
    parser.set_defaults(run=lambda options: run_draw(options, models, machines, choices))


def add_export(parser: argparse.ArgumentParser, catalogue: Mapping[str, Spec], machines: Mapping[str, Machine]) -> None:
    """Add the options of `export`."""
    models = Models(catalogue)
    names = f"{', '.join(machines)}, or module:MACHINE; none: all. With --format tla also a model, or module:SPEC"
    parser.add_argument("machines", nargs="*", metavar="MACHINE|MODEL", help=names)
    parser.add_argument("--folder", type=Path, metavar="FOLDER", help="write files there; of a model also TLC's configurations")
    add_bound_options(parser)
    add_output_options(parser, (*ENDINGS, *SCHEMAS))
    parser.set_defaults(run=lambda options: run_export(options, models, machines))


def make_folder(folder: Path) -> None:
    """Make the folder of --folder."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SpecError(f"--folder {folder}: {error.strerror}; name a folder that can be written") from None


def find_machine(name: str, machines: Mapping[str, Machine]) -> Machine:
    """Return a machine of the catalogue, or one of a module; refuse an unknown name."""
    if name in machines:
        return machines[name]
    if ":" in name:
        module, _, attribute = name.partition(":")
        return load_object(module, attribute, Machine)
    raise SpecError(f"machine {name!r} is unknown; there is {', '.join(machines)}, or module:NAME for your own")


def refuse_unknown(name: str, machines: Mapping[str, Machine]) -> None:
    """Refuse a name that belongs to neither a model nor a machine."""
    if name not in machines and ":" not in name:
        raise SpecError(
            f"{name!r} is neither a machine nor a model; there is {', '.join(machines)}, "
            "or a model (`kafka-spec models` lists them), or module:NAME"
        )


# ---------------------------------------------------------------------------------------------------------------------
# draw


def run_draw(
    options: argparse.Namespace, models: Models, machines: Mapping[str, Machine], choices: Mapping[str, ChoiceTable]
) -> int:
    """Draw the requested picture, or write or check the gallery."""
    if options.gallery or options.check:
        if options.what:
            raise SpecError("--gallery and --check are about all pictures; leave out the name")
        return run_gallery(options, models, machines, choices)
    if not options.what:
        raise SpecError(f"name what to draw: {', '.join(machines)}, or a model; --gallery writes all pictures")
    if options.what in models.catalogue or (":" in options.what and _is_spec(options.what)):
        return draw_model(options, models.find(options.what))
    if options.what in choices:
        for form, file in outputs(options):
            write(choices_picture(choices[options.what], form), file)
        return AS_EXPECTED
    refuse_unknown(options.what, machines)
    machine = find_machine(options.what, machines)
    older = find_machine(options.against, machines) if options.against else None
    if options.by or options.bound or options.bounds:
        raise SpecError("--by, --bound and --bounds apply to models only")
    for form, file in outputs(options):
        write(machine_picture(machine, older, form), file)
    return AS_EXPECTED


def _is_spec(name: str) -> bool:
    module, _, attribute = name.partition(":")
    return isinstance(load_object(module, attribute, object), Spec)


def machine_picture(machine: Machine, older: Machine | None, form: str) -> str | bytes:
    """Return a machine, or its differences from an older era, in a format."""
    several = compared(older, machine) if older else None
    if form == "mermaid":
        return machine_mermaid(machine, several)
    if form == "markdown":
        return changes_markdown(older, machine) if older else machine_markdown(machine)
    if form in ("graphml", "json"):
        raise SpecError(f"--format {form} is for models; kafka-spec export {machine.name} writes a table")
    dot = machine_dot(machine, several)
    return dot if form == "dot" else render(dot, form)


def choices_picture(choices: ChoiceTable, form: str) -> str | bytes:
    """Return a table of choices in a format."""
    if form == "markdown":
        return choices_markdown(choices)
    if form not in ("dot", "svg", "png"):
        raise SpecError(f"a table of choices is not drawn as {form}; take markdown, dot, svg or png")
    dot = choices_dot(choices)
    return dot if form == "dot" else render(dot, form)


def draw_model(options: argparse.Namespace, spec: Spec) -> int:
    """Draw the explored graph of a model."""
    if options.against:
        raise SpecError("--against compares machines, not models")
    with needing("draw"):
        from kafka_spec.diagrams.explored import (
            NODES,
            STATES,
            explored_dot,
            explored_graph,
            explored_graphml,
            explored_json,
            explored_mermaid,
        )
    bounds = asked_bounds(options, spec)
    graph = cache(lambda most: explored_graph(spec, bounds, options.by, most))
    forms: Mapping[str, Callable[[], str | bytes]] = {
        "mermaid": lambda: explored_mermaid(graph(NODES)),
        "dot": lambda: explored_dot(graph(NODES)),
        "svg": lambda: render(explored_dot(graph(NODES)), "svg"),
        "png": lambda: render(explored_dot(graph(NODES)), "png"),
        "graphml": lambda: explored_graphml(graph(STATES)),
        "json": lambda: explored_json(graph(STATES)),
    }
    for form, file in outputs(options):
        if form not in forms:
            raise SpecError(f"a model is not drawn as {form}; take {', '.join(forms)}")
        write(forms[form](), file)
    return AS_EXPECTED


def run_gallery(
    options: argparse.Namespace, models: Models, machines: Mapping[str, Machine], choices: Mapping[str, ChoiceTable]
) -> int:
    """Write the gallery, or list its stale files."""
    rejected = [check for check in read_manifest(options.manifest, models.find) if check.expected.verdict == "violated"]
    judged = list(outcomes(rejected, NamedCheck.run, cores()))
    if len(judged) < len(rejected):
        raise KeyboardInterrupt
    files_of = gallery(machines, judged, choices)
    if options.gallery:
        done = write_gallery(options.folder, files_of)
        print("\n".join([*done, f"{options.folder}: {len(files_of)} files, {len(done)} written or removed"]))
        return AS_EXPECTED
    problems = stale(options.folder, files_of)
    for problem in problems:
        print(f"kafka-spec: {problem}; write it again: kafka-spec draw --gallery", file=sys.stderr)
    print(f"{options.folder}: {len(files_of)} files, {len(problems)} stale")
    return VIOLATED if problems else AS_EXPECTED


# ---------------------------------------------------------------------------------------------------------------------
# export


def run_export(options: argparse.Namespace, models: Models, machines: Mapping[str, Machine]) -> int:
    """Write tables or models in the format of another tool."""
    if any(name not in machines and (name in models.catalogue or (":" in name and _is_spec(name))) for name in options.machines):
        return export_models(options, [models.find(name) for name in options.machines])
    if options.bound or options.bounds:
        raise SpecError("--bound and --bounds are of models; a machine has none")
    if options.format in SCHEMAS:
        if options.machines:
            raise SpecError(f"--format {options.format} is one for all; leave out {options.machines[0]}")
        package, name = SCHEMAS[options.format]
        for _, file in outputs(options):
            write((files(package) / name).read_text(encoding="utf-8"), file)
        return AS_EXPECTED
    if "schema" in options.machines:
        raise SpecError("schema is a format, and one for all tables: kafka-spec export --format schema")
    names = options.machines or list(machines)
    for name in names if options.format == "tla" else ():
        refuse_unknown(name, machines)
    chosen = {name: find_machine(name, machines) for name in names}
    if options.folder:
        make_folder(options.folder)
        for name, machine in chosen.items():
            stem = file_stem(name)
            write(exported(machine, options.format, stem), options.folder / f"{stem}.{ENDINGS[options.format]}")
        return AS_EXPECTED
    if len(chosen) > 1:
        raise SpecError(f"{len(chosen)} tables do not fit in one file; name one ({', '.join(machines)}), or give --folder FOLDER")
    ((name, machine),) = chosen.items()
    for form, file in outputs(options):
        write(exported(machine, form, file.stem if file else file_stem(name)), file)
    return AS_EXPECTED


def export_models(options: argparse.Namespace, specs: list[Spec]) -> int:
    """Write models as TLA+ modules; with a folder as output, write TLC's configurations too."""
    from kafka_spec.diagrams.tla.files import module_name, write_spec
    from kafka_spec.diagrams.tla.module import spec_tla

    if options.format != "tla":
        raise SpecError(f"a model is not exported as {options.format}; take --format tla")
    if options.folder:
        make_folder(options.folder)
        for spec in specs:
            asked = asked_bounds(options, spec) if options.bound or options.bounds else None
            print("\n".join(str(options.folder / name) for name in write_spec(spec, module_name(spec.name), options.folder, asked)))
        return AS_EXPECTED
    if options.bound or options.bounds:
        raise SpecError("bounds are constants of the module; give --folder FOLDER for a configuration that sets them")
    if len(specs) > 1:
        raise SpecError(f"{len(specs)} models do not fit into one file; name one, or give --folder FOLDER")
    for form, file in outputs(options):
        if form != "tla":
            raise SpecError(f"a model is not exported as {form}; take --format tla")
        write(spec_tla(specs[0], module_name(file.stem if file else specs[0].name)), file)
    return AS_EXPECTED


def file_stem(name: str) -> str:
    """Return the name of a machine in a form that is valid for a file and a TLA+ module."""
    return "".join(letter if letter.isalnum() else "_" for letter in name.rpartition(":")[2])


def exported(machine: Machine, form: str, module: str) -> str:
    """Return a machine in a format; a TLA+ module needs the name of its file."""
    forms: Mapping[str, Callable[[], str]] = {
        "json": lambda: table_text(machine),
        "transitions": lambda: transitions_text(machine),
        "tla": lambda: tla_text(machine, module),
        "plantuml": lambda: plantuml_text(machine),
        "scxml": lambda: scxml_text(machine),
    }
    if form not in forms:
        raise SpecError(f"--output {form}: a schema is one for all; take --format {form}")
    return forms[form]()
