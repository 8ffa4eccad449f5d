"""The bounds of the control plane, and the numbers that they limit."""

from __future__ import annotations

from kafka_spec.spec.decisions.fencing import EPOCH_DURING_DELETE
from kafka_spec.spec.language.domain import Bound, Range

BROKERS = Bound("brokers", 1, 4, "brokers, each of which can become the controller")
REPLICAS = Bound("replicas", 1, 4, "brokers that hold the partition: the first ones; at most the number of brokers")
PARTITIONS = Bound("partitions", 1, 2, "partitions of the topic")
PARTITION = {"partition": PARTITIONS}
"""What most properties are about, each."""
RECORDS = Bound("records", 0, 3, "records that clients write")
CHANNEL_DEPTH = Bound("channel_depth", 1, 20, "requests that wait in the channel of one controller to one broker")

CONTROLLER_EPOCHS = Range(0, 15, name="controller epoch")
NO_EPOCH = -1
"""The leader epoch of a replica that has received none, and of a state znode that does not exist."""

LEADER_EPOCHS = Range(EPOCH_DURING_DELETE, 31, NO_EPOCH, name="leader epoch")
VERSIONS = Range(0, 31, name="version")
BROKER_EPOCHS = Range(0, 15, name="broker epoch")
OFFSETS = Range(0, RECORDS)
"""Bounds on faults limit epochs and versions. A state that would exceed these numbers is reported as an error."""

LATE_STOPS = Bound("late_stops", 0, 1, "StopReplicas that are sent twice, and whose first copy is processed late")
CRASHES = Bound("crashes", 0, 3, "processes that end and may be restarted")
LOSSY_CRASHES = Bound("lossy_crashes", 0, 2, "machines that crash and lose the end of their log")
BOUNCES = Bound("bounces", 0, 3, "processes that end and restart before any controller reads ZooKeeper")
EXPIRIES = Bound("expiries", 0, 3, "sessions that expire before their owner notices")
REPEATS = Bound("repeats", 0, 2, "requests that are sent twice because the connection was lost before the answer")
LATE_FETCHES = Bound("late_fetches", 0, 1, "fetch requests that are delayed on the network")
LATE_FETCH_ANSWERS = Bound("late_fetch_answers", 0, 1, "answers to fetches that are delayed on the network")
LOST_REPLIES = Bound("lost_replies", 0, 1, "ISR writes whose answer is lost, so that the client library repeats the write")
ISR_SHRINKS = Bound("isr_shrinks", 0, 3, "removals of slow followers from the ISR")
CONTROLLED_SHUTDOWNS = Bound("controlled_shutdowns", 0, 2, "brokers that request a controlled shutdown")
SHUTDOWN_RETRIES = Bound("shutdown_retries", 0, 2, "requests for a controlled shutdown that a broker repeats")
PREFERRED_ELECTIONS = Bound("preferred_elections", 0, 2, "preferred replica elections that operators request")
UNCLEAN_ELECTIONS = Bound("unclean_elections", 0, 2, "unclean elections that operators request")
REBALANCES = Bound("rebalances", 0, 2, "times that a controller looks for brokers that lead too few partitions")
ADDITIONS = Bound("additions", 0, 1, "partitions that operators add to the topic, which is created without them")
REASSIGNMENTS = Bound("reassignments", 0, 3, "reassignments that operators request or cancel")
METADATA_REPEATS = Bound("metadata_repeats", 0, 2, "lists of live brokers that are sent again, with another partition's leader")
FAILED_FAILOVERS = Bound("failed_failovers", 0, 2, "fail-overs that end with an error, so that the controller gives up")
DELETIONS = Bound("deletions", 0, 3, "deletions of the topic that operators request")
RECREATIONS = Bound("recreations", 0, 2, "creations of the topic after it was deleted")
DELETION_ERRORS = Bound("deletion_errors", 0, 2, "replicas that a broker fails to delete")

MIN_ISR = Bound("min_isr", 1, 4, "the topic's min.insync.replicas: fewer in sync take and acknowledge no write with acks=all")
UNCLEAN = Bound("unclean", 0, 1, "1 if the topic has unclean.leader.election.enable")
IMBALANCE = Bound("imbalance", 0, 100, "leader.imbalance.per.broker.percentage")
NO_DELETION = Bound("no_deletion", 0, 1, "1 if the brokers have delete.topic.enable=false")
SETTLED = Bound(
    "settled",
    0,
    2,
    "1 to start from a settled cluster: controller elected, topic created, all requests processed; 2 if not broker 0 but 1 leads",
)
