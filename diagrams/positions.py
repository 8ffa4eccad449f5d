"""Positions of the states and arrows of Kafka's machines on the page, and the lane of each state.

Optional: without positions, Graphviz computes the layout. Units are points, from the left and from the top.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass

from kafka_spec.diagrams.arrows import Arrow, Box
from kafka_spec.spec.vocabulary.table import Machine

Point = tuple[int, int]


@dataclass(frozen=True)
class Places:
    """A layout: positions of states and boxes by name, the lane of each state.

    A box is named by its trigger, or by its trigger, first source and a target, or by its trigger and a target. The first state of
    the lane `path` is the initial state; `back` is the lane of arrows that return to it.
    """

    points: Mapping[str, Point]
    lanes: Mapping[str, tuple[str, ...]]
    back: str = "none"

    def of_box(self, box: Box) -> Point | None:
        """Return the position of a box; None if it has none."""
        trigger, source, targets = box.first.trigger, box.first.sources[0].name, [arrow.target.name for arrow in box.arrows]
        names = (*(f"{trigger} {source} {target}" for target in targets), *(f"{trigger} {target}" for target in targets), trigger)
        return next((self.points[name] for name in names if name in self.points), None)

    def lane_of_arrow(self, arrow: Arrow) -> str:
        """Return the lane of an arrow: its target's, or `back` if it returns to the initial state."""
        return self.back if arrow.target.name == self.lanes.get("path", ("",))[0] else self.lane(arrow.target)

    def lane(self, state: enum.IntEnum) -> str:
        """Return the lane of a state: path, failure, deletion, completion, or none."""
        return next((lane for lane, states in self.lanes.items() if state.name in states), "none")


NOWHERE = Places({}, {})

REPLICA = Places(
    points={
        "NON_EXISTENT": (85, 140),
        "new_replica": (267, 140),
        "NEW": (445, 140),
        "online_replica NEW ONLINE": (597, 140),
        "ONLINE": (775, 140),
        "startup": (600, -60),
        "offline_replica": (525, 330),
        "online_replica": (935, 300),
        "OFFLINE": (775, 470),
        "replica_deletion_started": (960, 470),
        "DELETION_STARTED": (1155, 470),
        "replica_deletion_ineligible": (1155, 345),
        "replica_deletion_ineligible DELETION_STARTED DELETION_INELIGIBLE": (1200, 260),
        "DELETION_INELIGIBLE": (1155, 140),
        "replica_deletion_successful": (1155, 545),
        "DELETION_SUCCESSFUL": (1155, 620),
        "non_existent_replica": (85, 620),
        "shutdown": (225, 250),
        "any state": (225, 330),
        "legend": (560, 690),
    },
    lanes={
        "path": ("NON_EXISTENT", "NEW", "ONLINE"),
        "failure": ("OFFLINE",),
        "deletion": ("DELETION_STARTED", "DELETION_SUCCESSFUL", "DELETION_INELIGIBLE"),
    },
    back="deletion",
)

PARTITION = Places(
    points={
        "NON_EXISTENT": (85, 140),
        "new_partition": (235, 140),
        "NEW": (380, 140),
        "online_partition NEW ONLINE": (570, 140),
        "ONLINE": (790, 140),
        "startup": (360, 275),
        "offline_partition": (600, 275),
        "online_partition": (985, 275),
        "OFFLINE": (790, 410),
        "non_existent_partition": (440, 410),
        "shutdown": (85, 270),
        "any state": (85, 350),
        "legend": (530, 500),
    },
    lanes={"path": ("NON_EXISTENT", "NEW", "ONLINE"), "failure": ("OFFLINE",), "deletion": ()},
    back="deletion",
)

CONTROLLER = Places(
    points={
        "STANDBY": (85, 140),
        "create_controller_znode": (265, 140),
        "ELECTING": (445, 140),
        "increment_epoch": (600, 140),
        "LOADING": (755, 140),
        "failover": (890, 140),
        "ACTIVE": (1025, 140),
        "elect": (445, 50),
        "resign": (600, 245),
        "die": (85, 245),
        "any state": (85, 320),
        "legend": (600, 320),
    },
    lanes={"path": ("STANDBY", "ELECTING", "LOADING", "ACTIVE"), "failure": ()},
    back="failure",
)

ROLE = Places(
    points={
        "NONE": (85, 140),
        "become_follower": (290, 42),
        "FOLLOWER": (450, 140),
        "become_leader": (640, 42),
        "LEADER": (815, 140),
        "delete_replica": (265, 225),
        "log_directory_fails": (600, 260),
        "OFFLINE": (815, 340),
        "die": (85, 260),
        "any state": (85, 340),
        "legend": (400, 400),
    },
    lanes={"path": ("NONE", "FOLLOWER", "LEADER"), "failure": ("OFFLINE",), "deletion": ()},
    back="deletion",
)

REASSIGNMENT = Places(
    points={
        "NONE": (85, 300),
        "reassign_by_api": (480, 60),
        "SUPPLANTING": (850, 60),
        "supplant": (1130, 60),
        "reassign": (700, 480),
        "reassign WAITING MOVING_LEADER": (1130, 480),
        "RECORDING": (480, 300),
        "record": (640, 300),
        "DROPPING": (800, 300),
        "drop": (970, 300),
        "EXTENDING": (1150, 300),
        "extend": (1460, 300),
        "WAITING": (1720, 300),
        "complete": (1600, 410),
        "MOVING_LEADER": (1500, 520),
        "move_leader": (1740, 720),
        "SHRINKING": (1430, 720),
        "shrink": (1180, 720),
        "FINISHING": (930, 720),
        "finish": (640, 720),
        "CLEARING": (330, 720),
        "clear": (85, 560),
        "resign": (-110, 300),
        "any state": (-110, 220),
        "legend": (800, 860),
    },
    lanes={
        "path": ("NONE", "RECORDING", "DROPPING", "EXTENDING", "WAITING"),
        "completion": ("MOVING_LEADER", "SHRINKING", "FINISHING", "CLEARING"),
        "none": ("SUPPLANTING",),
    },
    back="completion",
)

TOPIC_DELETION = Places(
    points={
        "NOT_QUEUED": (85, 140),
        "queue_topic_deletion QUEUED": (270, 140),
        "QUEUED": (460, 140),
        "begin_topic_deletion": (730, 140),
        "STARTED": (1000, 140),
        "remove_topic": (730, 240),
        "mark_topic_ineligible INELIGIBLE": (375, 320),
        "resume_topic_deletion QUEUED": (545, 320),
        "mark_topic_ineligible HALTED": (915, 320),
        "resume_topic_deletion STARTED": (1085, 320),
        "INELIGIBLE": (460, 480),
        "keep_ineligible_name": (730, 480),
        "HALTED": (1000, 480),
        "queue_topic_deletion INELIGIBLE": (460, 600),
        "NAME_KEPT": (730, 600),
        "shutdown": (85, 300),
        "any state": (85, 380),
        "legend": (560, 680),
    },
    lanes={"path": ("NOT_QUEUED", "QUEUED", "STARTED"), "failure": ("INELIGIBLE", "HALTED", "NAME_KEPT"), "deletion": ()},
    back="deletion",
)

PLACES: Mapping[str, Places] = {
    "Partition": PARTITION,
    "Replica": REPLICA,
    "Controller": CONTROLLER,
    "Role": ROLE,
    "Reassignment": REASSIGNMENT,
    "TopicDeletion": TOPIC_DELETION,
}


def places_of(machine: Machine) -> Places:
    """Return the layout of a machine, or an empty one."""
    return PLACES.get(machine.name, NOWHERE)
