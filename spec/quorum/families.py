"""The bounds of spec/quorum: families of nodes, epochs, changes of the voters, and faults.

A log has room for every batch that the other bounds allow: a LeaderChange in each epoch, records, changes of the voters.
"""

from __future__ import annotations

from kafka_spec.spec.family import Family
from kafka_spec.spec.vocabulary.table import Untestable

NO_CHANGE = Untestable("the voters are not changed", ("VotersFollowLog", "OneChangeAtATime"), ("additions", "removals"))
ONE_EPOCH = Untestable("there is one epoch", ("LeaderCanBeElected",))
ALONE = Untestable("there is one node", ("LogsMatch", "NoTruncationOfCommitted", "LeadersKnowTheirEpochs"))
NO_SNAPSHOT = Untestable("no node writes a snapshot", ("SnapshotsHaveVoters", "SnapshotsAreLoaded"), ("snapshots",))
CANNOT_TEST = (NO_CHANGE, NO_SNAPSHOT)
"""What no check of the quorum can test while these bounds are 0."""

FAULTS = ("snapshots", "resignations", "crashes", "lossy_crashes", "formats", "lost_answers", "delayed_fetches")
"""The bounds on snapshots, on disks that are formatted again, and on what goes wrong."""


def quorum(name: str, why: str, /, cannot_test: tuple[Untestable, ...] = (), checked: bool = True, **changes: int) -> Family:
    """Return a family; unless changed, three voters of three nodes, two epochs, and nothing that happens to them."""
    values = {
        "nodes": 3, "first_voters": 3, "epochs": 2, "log_size": 0, "kraft_version": 1, "pre_votes": 0,
        "records": 1, "additions": 0, "removals": 0,
        **dict.fromkeys(FAULTS, 0),
    } | changes  # fmt: skip
    values["log_size"] = values["epochs"] + values["records"] + values["additions"] + values["removals"]
    return Family(name, values, why, checked, normal_form=True, cannot_test=cannot_test)


QUORUM_FAMILIES = (
    quorum("three", "three voters, two epochs, a record"),
    quorum("one", "one voter, which crashes", nodes=1, first_voters=1, epochs=3, crashes=1, lossy_crashes=1, cannot_test=(ALONE,)),
    quorum("two", "two voters, two records, two crashes", nodes=2, first_voters=2, epochs=3, records=2, crashes=1, lossy_crashes=1),
    quorum("pre_votes", "three voters that ask for pre-votes, and a leader that resigns", pre_votes=1, resignations=1),
    quorum("four_epochs", "three voters, four epochs: a batch of an early one waits for its commit", epochs=4),
    quorum("crashes", "three voters, three epochs, two crashes, one of them lossy", epochs=3, crashes=1, lossy_crashes=1),
    quorum(
        "lossy", "three voters, an epoch, two records, a lossy crash",
        epochs=1, records=2, lossy_crashes=1, cannot_test=(ONE_EPOCH,),
    ),
    quorum("network", "three voters, a fetch that is delayed, one without an answer", epochs=3, lost_answers=1, delayed_fetches=1),
    quorum("add", "a third node becomes a voter, and a lossy crash", first_voters=2, additions=1, lossy_crashes=1),
    quorum("one_to_three", "two nodes join the only voter", first_voters=1, additions=2),
    quorum("configured", "one voter of three nodes, configured and not in the log", first_voters=1, kraft_version=0),
    quorum("formatted", "three configured voters, two disks formatted again", kraft_version=0, formats=2),
    quorum(
        "formatted_and_crash", "three configured voters, three epochs, two disks formatted again, a crash",
        epochs=3, kraft_version=0, formats=2, crashes=1,
    ),
    quorum("remove", "a voter is removed, perhaps the leader, with pre-votes", removals=1, pre_votes=1, resignations=1),
    quorum(
        "two_to_one", "one of two voters is removed, perhaps the leader, with pre-votes, and a crash",
        nodes=2, first_voters=2, epochs=4, pre_votes=1, removals=1, crashes=1,
    ),
    quorum("replace", "a voter is added and one removed", first_voters=2, additions=1, removals=1, crashes=1),
    quorum("two_removals", "two of three voters are removed, three epochs", epochs=3, removals=2),
    quorum("snapshots", "three voters, three epochs, a snapshot", epochs=3, records=0, snapshots=1),
    quorum(
        "two_snapshots", "two voters and an observer, two snapshots, a crash, a lossy crash",
        first_voters=2, snapshots=2, crashes=1, lossy_crashes=1,
    ),
    quorum("snapshot_and_add", "a third node becomes a voter, and a snapshot", first_voters=2, additions=1, snapshots=1),
    quorum("snapshot_and_remove", "a voter is removed, and a snapshot", removals=1, snapshots=1),
    quorum(
        "four_voters",
        "two of four voters are removed, three epochs; fixed has too many states for CI",
        nodes=4, first_voters=4, epochs=3, records=0, removals=2, checked=False,
    ),
    quorum("five", "five voters, two epochs; two million states", nodes=5, first_voters=5),
)  # fmt: skip
