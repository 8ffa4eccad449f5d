"""A run in virtual time: everything that chance decides is drawn from one seed, so the same options are the same run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

from kafka_spec.impl.run.chaos import Storm
from kafka_spec.impl.run.conductor import Conductor
from kafka_spec.impl.run.options import Options
from kafka_spec.impl.run.outcome import RunOutcome
from kafka_spec.impl.run.simulated_world import SimulatedWorld


def simulate(
    options: Options,
    folder: Path,
    write: Callable[[str], object] = lambda _: None,
    news: Callable[[str], object] = lambda _: None,
    watch: Callable[[Conductor], object] = lambda _: None,
) -> RunOutcome:
    """Run, and return what came of it.

    `folder` is empty; `write` takes the lines of the state-change log, `news` what happens, for people, and `watch` is shown the
    run a few times a virtual second.
    """
    random = Random(options.seed)
    world = SimulatedWorld(options, folder, write, news, random)
    conductor = Conductor(options, world, Storm(world, random, options.faults), watch)
    part = conductor.conduct()
    try:
        while True:
            try:
                wait = next(part)
            except StopIteration as ended:
                outcome: RunOutcome = ended.value
                return outcome
            world.scheduler.run_until(world.now + wait.seconds)
    finally:
        world.end()
