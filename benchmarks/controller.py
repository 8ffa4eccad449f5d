"""How long a controller takes for 10,000 partitions on 10 brokers in memory: `python -m benchmarks.controller`."""

from __future__ import annotations

import time
from random import Random

from impl import znodes
from impl.admin import Admin
from impl.controller import Controller
from impl.controller_context import Channels
from impl.coordination.memory import Ensemble
from impl.state_change_log import StateChangeLog
from spec.control.eras import FIXED

BROKERS = 10
PARTITIONS = 10_000


def main() -> None:
    """Create a topic, fail one broker, fail the controller over; print seconds and what was sent."""
    ensemble = Ensemble()
    tools = ensemble.connect()
    for path in znodes.PERSISTENT:
        tools.create(path)
    sessions = [ensemble.connect() for _ in range(BROKERS)]
    lines: list[str] = []
    controllers = []
    for number, session in enumerate(sessions):
        session.create(znodes.broker(number), znodes.Broker(number, ()).encode(), ephemeral=True)
        log = StateChangeLog(lines.append, time.time)
        controllers.append(Controller(number, FIXED, session, Channels(), log, time.time))
        controllers[-1].start()

    def settle(what: str) -> None:
        start = time.perf_counter()
        while sum(controller.step() for controller in controllers) > 0:
            pass
        requests = sum(len(queue) for controller in controllers for queue in controller.channels.queues.values())
        print(f"{what:28} {time.perf_counter() - start:6.1f} s, {requests} requests wait, {len(lines)} lines logged")

    settle("election")
    Admin(tools, Random(7), print).create_topic("orders", PARTITIONS, 3)
    settle(f"creation of {PARTITIONS} partitions")
    ensemble.expire(sessions[9])
    settle("failure of one broker")
    ensemble.expire(sessions[0])
    settle("fail-over")


if __name__ == "__main__":
    main()
