"""The possible faults of a run of KRaft, by name, and their frequency."""

from __future__ import annotations

from kafka_spec.impl.run.faults import FAULTS, InjectedFault

DIRECTORY = "directory"
OWN = (
    InjectedFault("crash", "a broker's process ends, and is started again some time later", every=9.0),
    InjectedFault("bounce", "a broker's process ends and starts again at once", every=11.0),
    InjectedFault("fence", "the controller does not hear from a running broker until its session has ended", every=9.0),
    InjectedFault("shutdown", "a broker is shut down in a controlled way, and started again", every=13.0),
    InjectedFault("election", "an operator has preferred leaders elected", every=8.0),
    InjectedFault("lag", "a broker does not apply the metadata log for some time", every=8.0),
    InjectedFault(
        "settings", "an operator changes min.insync.replicas of the clients' topic, or restores it", every=5.0, usual=False
    ),
    InjectedFault(
        DIRECTORY, "a broker's log directory fails; some time later the broker is started with it again", every=9.0, usual=False
    ),
)
"""The faults that KRaft has, or has in another way."""
OF_CONTROLLERS = (
    InjectedFault("controller-crash", "a controller's process ends, and is started again some time later", every=8.0),
    InjectedFault("controller-power", "a controller loses power, and what it has not flushed", every=10.0),
    InjectedFault("controller-isolation", "a controller cannot reach the others for some time", every=8.0),
    InjectedFault("resignation", "the active controller resigns", every=12.0),
    InjectedFault("voters", "an operator removes a voter of the quorum, or adds one", every=7.0, usual=False),
)
"""The faults of a quorum of several controllers."""
SHARED = ("isolation", "slow", "delay", "duplicate", "lost-request", "lost-reply", "power")
"""The faults of machines and of the network: those of impl/run/faults.py."""
KRAFT_FAULTS = {fault.name: fault for fault in (*OWN, *(FAULTS[name] for name in SHARED))}
"""The faults of a run with one controller."""
QUORUM_FAULTS = KRAFT_FAULTS | {fault.name: fault for fault in OF_CONTROLLERS}
"""The faults of a run with several."""
