"""A run in real time: the course of a run on a `LoopbackWorld`, until it ends or ZooKeeper is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from kafka_spec.impl.run.options import Options
from kafka_spec.impl.run.outcome import RunOutcome
from kafka_spec.impl.run.tasks import Sleep
from kafka_spec.impl.run.zookeeper.conductor import Conductor
from kafka_spec.impl.run.zookeeper.loopback_world import LoopbackWorld
from kafka_spec.impl.run.zookeeper.nemesis import zookeeper_nemesis
from kafka_spec.impl.zookeeper.coordination.interface import ConnectionLost, CoordinationError, Service

LOOK = 0.1
"""Seconds between two checks whether the coordination service is lost."""


async def run_on_loopback(
    options: Options,
    folder: Path,
    service: Service,
    write: Callable[[str], object] = lambda _: None,
    news: Callable[[str], object] = lambda _: None,
    watch: Callable[[Conductor], object] = lambda _: None,
) -> RunOutcome:
    """Run in real time, and return the outcome. The parameters are those of `simulate`; `service` may be real.

    If the service is lost, the run ends with the outcome so far.
    """
    random = Random(options.seed)
    try:
        world = await LoopbackWorld.begin(options, folder, service, write, news, random)
    except CoordinationError:
        service.abandon()
        raise
    conductor = Conductor(options, world, zookeeper_nemesis(world, options.faults), watch)
    watching = asyncio.create_task(_watch(service, world.failure))
    try:
        return await _conducted(world, conductor)
    except CoordinationError as error:
        service.abandon()
        return await world.thread.do(partial(conductor.reached, f"ZooKeeper was lost: {error}"))
    finally:
        watching.cancel()
        if service.is_silent():
            service.abandon()
        await world.thread.do(world.end)
        await world.ended()


async def _conducted(world: LoopbackWorld, conductor: Conductor) -> RunOutcome:
    """Return the outcome, or raise the first unexpected error."""
    course = conductor.conduct()

    def next_wait() -> Sleep | RunOutcome:
        try:
            return next(course)
        except StopIteration as ended:
            outcome: RunOutcome = ended.value
            return outcome

    while True:
        step = asyncio.ensure_future(world.thread.do(next_wait))
        either: list[asyncio.Future[Any]] = [step, world.failure]
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if world.failure.done():
            step.cancel()
            world.failure.result()
        wait = step.result()
        if isinstance(wait, RunOutcome):
            return wait
        await asyncio.wait([world.failure], timeout=wait.seconds)


async def _watch(service: Service, failure: asyncio.Future[None]) -> None:
    """Let the run fail once the service is lost."""
    while not (why := service.lost()):
        await asyncio.sleep(LOOK)
    service.abandon()
    if not failure.done():
        failure.set_exception(ConnectionLost(why))
