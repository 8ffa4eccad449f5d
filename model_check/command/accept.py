"""`check --accept`: the counts of a run become those that the manifest expects."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence

from kafka_spec.model_check.check import Outcome
from kafka_spec.model_check.command.options import warn
from kafka_spec.model_check.manifest import Manifest, manifest_of
from kafka_spec.model_check.named_check import NamedCheck
from kafka_spec.spec.vocabulary.table import SpecError


def accept(manifest: Manifest, outcomes: Sequence[Outcome]) -> None:
    """Write the counts of the outcomes that are as expected, and say which are new."""
    assert manifest.counts is not None
    changed = manifest.counts.accept(outcomes, manifest.names, manifest.with_counts)
    warn(f"{manifest.counts.path}: {len(changed)} of {len(outcomes)} checks have new counts: {', '.join(changed) or 'none'}")


def refuse_to_accept(options: argparse.Namespace, named: Mapping[str, NamedCheck]) -> None:
    """Refuse to accept the counts of searches that are not those of the manifest."""
    if strange := [name for name in options.models if name not in named]:
        raise SpecError(f"--accept is of named checks, and {strange[0]} is none; name one, or none for all")
    given = {"--all": options.all, "--normal-form": options.normal_form, "--deadlock": options.deadlock is not None}
    if changes := [option for option, value in given.items() if value]:
        raise SpecError(f"--accept: {changes[0]} changes what is counted; leave it out")
    if manifest_of(options.manifest).counts is None:
        raise SpecError(f'--accept: {options.manifest} names no file of counts; add counts = "FILE" to [tool.kafka-spec]')
