"""A run in virtual time: one seed is the source of all randomness, so equal options give equal runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

from kafka_spec.impl.run.options import Options
from kafka_spec.impl.run.outcome import RunOutcome
from kafka_spec.impl.run.zookeeper.conductor import Conductor
from kafka_spec.impl.run.zookeeper.nemesis import zookeeper_nemesis
from kafka_spec.impl.run.zookeeper.simulated_world import SimulatedWorld


def simulate(
    options: Options,
    folder: Path,
    write: Callable[[str], object] = lambda _: None,
    news: Callable[[str], object] = lambda _: None,
    watch: Callable[[Conductor], object] = lambda _: None,
) -> RunOutcome:
    """Run, and return the outcome.

    `folder` is empty; `write` receives the lines of the state-change log, `news` the events to display; `watch` is called a few
    times a virtual second.
    """
    random = Random(options.seed)
    world = SimulatedWorld(options, folder, write, news, random)
    conductor = Conductor(options, world, zookeeper_nemesis(world, options.faults), watch)
    try:
        return world.run(conductor.conduct())
    finally:
        world.end()
