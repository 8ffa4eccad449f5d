---- MODULE kip_320 ----
\* replication/kip_320: Kafka 2.1 and later, KIP-320: truncation, fetching and counting only within one leader
\* epoch
\*
\* Written by `kafka-spec export --format tla`; change the spec, not this file. Source: Kip320.tla
\* (hachikuji/kafka-specification); KIP-320
\*
\* The state is one record. A function of the spec is an operator of the same name: a guard or a property says
\* whether it holds in s, an effect is the state after it. A rule is an action of the same name; its guards
\* stand first, and Step takes the state after its effects. Brokers, indices and truth values kept in fields
\* are numbers, arrays are functions from 0, sequences are tuples (so the item at offset 0 is item 1), sets
\* are sets, members of an enumeration are numbers with names.
\*
\* A bound is a constant. A step that would leave one is not a step (Step, and the comments `within the
\* bounds`). A limit that the spec states as a fact is part of TypeInvariant; a step that leaves limits of
\* both kinds violates it. Limits are looked at where a step ends: a step that leaves one and comes back
\* within it before it ends is taken here, and is none there. Two rows of a table that fit at once, and
\* whatever cannot be evaluated, are errors of the spec there; here the first row is taken, nothing is
\* removed, or TLC stops. TLC judges an action property on every step that changes something.
\*
\* Not modelled: requests are never removed from the set of those issued: a replica may read any of them at
\* any time, which covers loss, delay, repetition and reordering
\*
\* Not modelled: a replica reads the log of another at once: a fetch is one step; what a request or an answer
\* in flight could do (zombie fetches, KAFKA-7395) is not covered here
\*
\* Not modelled: there is one controller, and it never fails: the control plane's models cover controllers,
\* their epochs and their fail-over
\*
\* Not modelled: a replica never loses records that it wrote: a crashed replica takes no steps; the control
\* plane's models cover the loss of an unflushed suffix
\*
\* Not modelled: elections are clean: a leader comes from the ISR: unclean elections give up the properties
\* that are checked here

EXTENDS Integers, Sequences, FiniteSets, TLC

CONSTANTS
  \* brokers that hold the partition
  Replicas,
  \* entries a log can hold
  LogSize,
  \* records that clients write
  MaxRecords,
  \* the largest leader epoch; the first is 0
  MaxLeaderEpoch

VARIABLE state

NONE == -1
NO_EPOCH == -1

Min(a, b) == IF a <= b THEN a ELSE b

AtLeast(low) == {n \in Int : n >= low}

\* A sequence without its items from the offset `length` on.
Truncate(items, length) == IF length < Len(items) THEN SubSeq(items, 1, length) ELSE items

Lowest(set) == CHOOSE n \in set : \A m \in set : n <= m

\* A loop: `value` after Op(value, i) for each i from low to high. `next = next` has TLC take one turn after the other.
Fold(Op(_, _), value, low, high) ==
  LET RECURSIVE From(_, _)
      From(now, i) ==
        IF i > high THEN now
        ELSE LET next == Op(now, i) IN IF next = next THEN From(next, i + 1) ELSE now
  IN From(value, low)

\* A guard as a value: in an action TLC takes a disjunction for a choice of steps.
Holds(guard) == guard = TRUE

--------------------------------------------------------------------------------------------------------------
\* The state

\* One entry of a log: which record, written in which leader epoch.
LogEntryType == [record: AtLeast(0), epoch: AtLeast(0)]

FreshLogEntry == [record |-> 0, epoch |-> 0]

\* Whether it is within the bounds.
LogEntryFits(it) == it.record <= MaxRecords - 1 /\ it.epoch <= MaxLeaderEpoch

\* A broker's replica of the partition: its log, and its last LeaderAndIsr.
ReplicaType ==
  [log: Seq(LogEntryType),
   high_watermark: AtLeast(0),
   leader_epoch: AtLeast(-1),
   leader: AtLeast(-1),
   isr: SUBSET(0..Replicas - 1)]

FreshReplica == [log |-> <<>>, high_watermark |-> 0, leader_epoch |-> -1, leader |-> NONE, isr |-> {}]

\* Whether it is within the bounds.
ReplicaFits(it) ==
  /\ Len(it.log) <= LogSize
  /\ \A i \in DOMAIN it.log : LogEntryFits(it.log[i])
  /\ it.high_watermark <= LogSize
  /\ it.leader_epoch <= MaxLeaderEpoch
  /\ it.leader <= Replicas - 1

\* The content of the partition's state znode in ZooKeeper.
QuorumType == [leader_epoch: AtLeast(-1), leader: AtLeast(-1), isr: SUBSET(0..Replicas - 1)]

FreshQuorum == [leader_epoch |-> -1, leader |-> NONE, isr |-> 0..Replicas - 1]

\* Whether it is within the bounds.
QuorumFits(it) == it.leader_epoch <= MaxLeaderEpoch /\ it.leader <= Replicas - 1

\* A LeaderAndIsr request as the controller issued it; its leader epoch is its number among all requests.
LeaderAndIsrType == [leader_epoch: AtLeast(0), leader: AtLeast(-1), isr: SUBSET(0..Replicas - 1)]

FreshLeaderAndIsr == [leader_epoch |-> 0, leader |-> NONE, isr |-> {}]

\* Whether it is within the bounds.
LeaderAndIsrFits(it) == it.leader_epoch <= MaxLeaderEpoch /\ it.leader <= Replicas - 1

\* The whole state.
\*
\* `requests` holds every LeaderAndIsr ever issued, one for each epoch, and is never emptied: a replica may
\* read any of them at any time, so loss, delay, repetition and reordering are all covered.
PartitionType ==
  [replicas: [0..Replicas - 1 -> ReplicaType],
   quorum: QuorumType,
   requests: Seq(LeaderAndIsrType),
   next_record: AtLeast(0)]

FreshPartition ==
  [replicas |-> [i \in 0..Replicas - 1 |-> FreshReplica],
   quorum |-> FreshQuorum,
   requests |-> <<>>,
   next_record |-> 0]

\* Whether it is within the bounds.
PartitionFits(it) ==
  /\ \A i \in 0..Replicas - 1 : ReplicaFits(it.replicas[i])
  /\ QuorumFits(it.quorum)
  /\ Len(it.requests) <= MaxLeaderEpoch + 1
  /\ \A i \in DOMAIN it.requests : LeaderAndIsrFits(it.requests[i])
  /\ it.next_record <= MaxRecords

\* The step to the state t, unless that is outside the bounds; TypeInvariant reports what is not a state at
\* all.
Step(t) == Holds(PartitionFits(t) \/ t \notin PartitionType) /\ state' = t

--------------------------------------------------------------------------------------------------------------
\* ControllerElectLeader: the controller elects {replica} from the ISR, under a new leader epoch
\*
\* Source: KafkaReplication.tla (hachikuji/kafka-specification): ControllerElectLeader; Kafka 2.8
\* PartitionStateMachine.electLeaderForPartitions

\* ZooKeeper's ISR holds the replica.
ReplicaIsInQuorumIsr(s, replica) == replica \in s.quorum.isr

\* ZooKeeper names another leader, or none.
ReplicaIsNotQuorumLeader(s, replica) == s.quorum.leader # replica

\* The bound on leader epochs allows one more.
ALeaderEpochIsLeft(s) == Len(s.requests) <= MaxLeaderEpoch

\* Write leader and ISR with a new epoch to ZooKeeper, and issue the LeaderAndIsr request of that epoch.
UpdateQuorum(s, leader, isr) ==
  LET epoch == Len(s.requests)
  IN [s EXCEPT !.quorum.leader_epoch = epoch,
               !.quorum.leader = leader,
               !.quorum.isr = isr,
               !.requests = Append(@, [leader_epoch |-> epoch, leader |-> leader, isr |-> isr])]

\* Make the replica the leader; the ISR stays.
ElectLeader(s, replica) == UpdateQuorum(s, replica, s.quorum.isr)

ControllerElectLeader(replica) ==
  /\ ReplicaIsInQuorumIsr(state, replica)
  /\ ReplicaIsNotQuorumLeader(state, replica)
  \* within the bounds:
  /\ ALeaderEpochIsLeft(state)
  /\ Step(ElectLeader(state, replica))

--------------------------------------------------------------------------------------------------------------
\* ControllerShrinkIsr: the controller considers {replica} failed and removes it from leadership and ISR,
\* under a new leader epoch
\*
\* Source: KafkaReplication.tla (hachikuji/kafka-specification): ControllerShrinkIsr; Kafka 2.8
\* ReplicaStateMachine.removeReplicasFromIsr

\* ZooKeeper names the replica as leader or in the ISR.
ReplicaMattersToQuorum(s, replica) == s.quorum.leader = replica \/ replica \in s.quorum.isr

\* The leader and the ISR without the replica: a last member that leads stays in the ISR, any other leaves it.
LeaderAndIsrWithout(leader, isr, replica) ==
  IF leader # replica THEN <<leader, isr \ {replica}>>
  ELSE IF isr = {replica} THEN <<NONE, isr>>
  ELSE <<NONE, isr \ {replica}>>

\* Remove the replica from leadership and ISR.
ShrinkQuorumIsr(s, replica) ==
  LET pair == LeaderAndIsrWithout(s.quorum.leader, s.quorum.isr, replica)
      leader == pair[1]
      isr == pair[2]
  IN UpdateQuorum(s, leader, isr)

ControllerShrinkIsr(replica) ==
  /\ Holds(ReplicaMattersToQuorum(state, replica))
  \* within the bounds:
  /\ ALeaderEpochIsLeft(state)
  /\ Step(ShrinkQuorumIsr(state, replica))

--------------------------------------------------------------------------------------------------------------
\* BecomeLeader: {request.leader} applies LeaderAndIsr request {request} and leads
\*
\* Source: KafkaReplication.tla (hachikuji/kafka-specification): BecomeLeader; Kafka 2.8 Partition.makeLeader

\* The request names a leader; replicas never apply a request without one.
RequestNamesALeader(s, request) == s.requests[request + 1].leader # NONE

\* The epoch is larger than the one the named leader knows.
RequestIsNewToItsLeader(s, request) ==
  s.requests[request + 1].leader_epoch > s.replicas[s.requests[request + 1].leader].leader_epoch

\* Take epoch, leader and ISR from the request.
TakeRequest(s, request, replica) ==
  [s EXCEPT !.replicas[replica].leader_epoch = s.requests[request + 1].leader_epoch,
            !.replicas[replica].leader = s.requests[request + 1].leader,
            !.replicas[replica].isr = s.requests[request + 1].isr]

\* Take epoch, leadership and ISR from the request; the high watermark stays.
BecomeLeaderEffect(s, request) ==
  LET leader == s.requests[request + 1].leader
  IN TakeRequest(s, request, leader)

BecomeLeader(request) ==
  /\ RequestNamesALeader(state, request)
  /\ RequestIsNewToItsLeader(state, request)
  /\ Step(BecomeLeaderEffect(state, request))

--------------------------------------------------------------------------------------------------------------
\* BecomeFollower: {replica} applies LeaderAndIsr request {request}, truncates to where its log diverges from
\* the leader's, and follows
\*
\* Source: Kip320.tla (hachikuji/kafka-specification): FencedBecomeFollowerAndTruncate; Kafka 2.1
\* OffsetsForLeaderEpoch v2

\* The leader of the request has applied it and is still in its epoch; otherwise it answers FENCED or
\* UNKNOWN_LEADER_EPOCH.
LeaderLeadsAtRequestEpoch(s, request) ==
  LET leader == s.replicas[s.requests[request + 1].leader]
  IN /\ leader.leader = s.requests[request + 1].leader
     /\ leader.leader_epoch = s.requests[request + 1].leader_epoch

\* The request names another replica as leader.
ReplicaIsNotTheLeader(s, request, replica) == s.requests[request + 1].leader # replica

\* The epoch is larger than the one the replica knows.
RequestIsNewToReplica(s, request, replica) ==
  s.requests[request + 1].leader_epoch > s.replicas[replica].leader_epoch

\* Whether both logs hold the same entry, record and epoch, at an offset that both have.
SameEntry(log, other, offset) ==
  log[offset + 1].record = other[offset + 1].record /\ log[offset + 1].epoch = other[offset + 1].epoch

\* KIP-279: one past the highest offset at which both logs hold the same entry; 0 if there is none.
\*
\* The exchange of (epoch, end offset) pairs converges to it. Kafka 2.0:
\* AbstractFetcherThread.getOffsetTruncationState.
DivergenceOffset(leader_log, follower_log) ==
  Fold(LAMBDA end, offset : IF SameEntry(leader_log, follower_log, offset) THEN offset + 1 ELSE end, 0, 0,
       Min(Len(leader_log), Len(follower_log)) - 1)

\* Drop the entries from the offset on; lower the high watermark if it is above the new end of the log.
TruncateLog(s, replica, offset) ==
  [s EXCEPT !.replicas[replica].log = Truncate(@, offset),
            !.replicas[replica].high_watermark = Min(offset, @)]

\* Drop the entries that the leader of the request does not have.
TruncateToDivergence(s, request, replica) ==
  LET leader == s.requests[request + 1].leader
  IN TruncateLog(s, replica, DivergenceOffset(s.replicas[leader].log, s.replicas[replica].log))

BecomeFollower(request, replica) ==
  /\ RequestNamesALeader(state, request)
  /\ LeaderLeadsAtRequestEpoch(state, request)
  /\ ReplicaIsNotTheLeader(state, request, replica)
  /\ RequestIsNewToReplica(state, request, replica)
  /\ Step(LET s1 == TruncateToDivergence(state, request, replica) IN TakeRequest(s1, request, replica))

--------------------------------------------------------------------------------------------------------------
\* LeaderWrite: a client writes a record to {leader}
\*
\* Source: KafkaReplication.tla (hachikuji/kafka-specification): LeaderWrite; Kafka 2.8
\* Partition.appendRecordsToLeader

\* The leader believes that it leads.
LeaderPresumesLeadership(s, leader) == s.replicas[leader].leader = leader

\* The bound on records allows one more.
ARecordIsLeft(s) == s.next_record < MaxRecords

\* The bound on log size allows one more entry.
LogHasRoom(s, leader) == Len(s.replicas[leader].log) < LogSize

\* Append the next record in the leader's epoch.
AppendNextRecord(s, leader) ==
  [s EXCEPT !.replicas[leader].log =
                Append(@, [record |-> s.next_record, epoch |-> s.replicas[leader].leader_epoch]),
            !.next_record = @ + 1]

LeaderWrite(leader) ==
  /\ LeaderPresumesLeadership(state, leader)
  \* within the bounds:
  /\ ARecordIsLeft(state)
  /\ LogHasRoom(state, leader)
  /\ Step(AppendNextRecord(state, leader))

--------------------------------------------------------------------------------------------------------------
\* LeaderIncHighWatermark: {leader} advances its high watermark: all its ISR holds the next record, which is
\* now committed
\*
\* Source: Kip320.tla (hachikuji/kafka-specification): FencedLeaderIncHighWatermark

\* The leader's log reaches beyond its high watermark.
LeaderHasEntryAtHighWatermark(s, leader) == s.replicas[leader].high_watermark < Len(s.replicas[leader].log)

\* The leader leads, and the follower follows it at the same leader epoch (KIP-320's fencing).
IsInSameEpoch(s, leader, follower) ==
  LET leading == s.replicas[leader]
      following == s.replicas[follower]
  IN leading.leader = leader /\ following.leader = leader /\ following.leader_epoch = leading.leader_epoch

\* Whether a replica with this end offset lets the high watermark advance by one: it holds the entry there.
\*
\* The leader's candidate is the smallest end offset of the ISR (Kafka 2.8: Partition.maybeIncrementLeaderHW);
\* one step at a time, it advances while this is true of every member.
HighWatermarkMayPass(high_watermark, end_offset) == high_watermark < end_offset

\* Every member of the leader's ISR is in its epoch and holds the entry at its high watermark.
IsrHasNextEntry(s, leader) ==
  \A member \in 0..Replicas - 1 :
    member \in s.replicas[leader].isr => /\ IsInSameEpoch(s, leader, member)
                                         /\ HighWatermarkMayPass(s.replicas[leader].high_watermark,
                                                                 Len(s.replicas[member].log))

\* Advance the leader's high watermark by one.
AdvanceHighWatermark(s, leader) == [s EXCEPT !.replicas[leader].high_watermark = @ + 1]

LeaderIncHighWatermark(leader) ==
  /\ LeaderHasEntryAtHighWatermark(state, leader)
  /\ IsrHasNextEntry(state, leader)
  /\ Step(AdvanceHighWatermark(state, leader))

--------------------------------------------------------------------------------------------------------------
\* LeaderShrinkIsr: {leader} removes the lagging {follower} from the ISR
\*
\* Source: Kip320.tla (hachikuji/kafka-specification): FencedLeaderShrinkIsr

\* The leader is ZooKeeper's leader at the newest epoch: only then does its conditional write of the ISR
\* succeed.
LeaderIsTrueLeader(s, leader) ==
  LET replica == s.replicas[leader]
  IN s.quorum.leader = leader /\ replica.leader = leader /\ replica.leader_epoch = s.quorum.leader_epoch

\* The follower is not the leader.
FollowerIsAnother(leader, follower) == follower # leader

\* The leader's ISR holds the follower.
LeaderCountsFollower(s, leader, follower) == follower \in s.replicas[leader].isr

\* The leader's log is longer than the follower's.
LeaderHasMore(s, leader, follower) == Len(s.replicas[follower].log) < Len(s.replicas[leader].log)

\* The follower is in another epoch, or does not have all of the leader's log.
FollowerLagsOrIsFenced(s, leader, follower) ==
  ~IsInSameEpoch(s, leader, follower) \/ LeaderHasMore(s, leader, follower)

\* Write the ISR without the follower to ZooKeeper; no new epoch, no request.
RemoveFromIsr(s, leader, follower) ==
  LET s2 == [s EXCEPT !.replicas[leader].isr = @ \ {follower}]
  IN [s2 EXCEPT !.quorum.isr = s2.replicas[leader].isr]

LeaderShrinkIsr(leader, follower) ==
  /\ LeaderIsTrueLeader(state, leader)
  /\ FollowerIsAnother(leader, follower)
  /\ LeaderCountsFollower(state, leader, follower)
  /\ Holds(FollowerLagsOrIsFenced(state, leader, follower))
  /\ Step(RemoveFromIsr(state, leader, follower))

--------------------------------------------------------------------------------------------------------------
\* LeaderExpandIsr: {leader} adds {follower}, which has reached its high watermark, to the ISR
\*
\* Source: Kip320.tla (hachikuji/kafka-specification): FencedLeaderExpandIsr; Kafka 2.1
\* Partition.isFollowerInSync

\* Whether a leader's high watermark has reached the start of its own epoch: all older entries are committed.
\*
\* Before that its high watermark may be below committed records, and a follower that reaches it may lack
\* committed records (KAFKA-7128). Kafka 2.1: Partition.isFollowerInSync compares with the epoch's start
\* offset.
HighWatermarkIsOfEpoch(log, high_watermark, leader_epoch) ==
  high_watermark = Len(log) \/ (high_watermark < Len(log) /\ log[high_watermark + 1].epoch = leader_epoch)

\* The leader's high watermark has reached the start of its epoch: all older entries are committed.
HighWatermarkIsOfLeaderEpoch(s, leader) ==
  LET replica == s.replicas[leader]
  IN HighWatermarkIsOfEpoch(replica.log, replica.high_watermark, replica.leader_epoch)

\* The leader's ISR does not hold the follower.
LeaderDoesNotCountFollower(s, leader, follower) == follower \notin s.replicas[leader].isr

\* The follower follows this replica at the leader epoch that the replica is in.
FollowerIsInLeadersEpoch(s, leader, follower) ==
  LET following == s.replicas[follower]
  IN following.leader = leader /\ following.leader_epoch = s.replicas[leader].leader_epoch

\* Whether a follower's end offset has reached the leader's high watermark: KIP-16's condition to join the
\* ISR.
ReachesHighWatermark(end_offset, high_watermark) == end_offset >= high_watermark

\* The follower's log reaches the leader's high watermark.
FollowerHasReachedHighWatermark(s, leader, follower) ==
  ReachesHighWatermark(Len(s.replicas[follower].log), s.replicas[leader].high_watermark)

\* Write the ISR with the follower to ZooKeeper; no new epoch, no request.
AddToIsr(s, leader, follower) ==
  LET s2 == [s EXCEPT !.replicas[leader].isr = @ \cup {follower}]
  IN [s2 EXCEPT !.quorum.isr = s2.replicas[leader].isr]

LeaderExpandIsr(leader, follower) ==
  /\ LeaderIsTrueLeader(state, leader)
  /\ Holds(HighWatermarkIsOfLeaderEpoch(state, leader))
  /\ LeaderDoesNotCountFollower(state, leader, follower)
  /\ FollowerIsInLeadersEpoch(state, leader, follower)
  /\ FollowerHasReachedHighWatermark(state, leader, follower)
  /\ Step(AddToIsr(state, leader, follower))

--------------------------------------------------------------------------------------------------------------
\* FollowerFetch: {follower} fetches one record and the high watermark from {leader}
\*
\* Source: Kip320.tla (hachikuji/kafka-specification): FollowerFetch; KIP-320, Kafka 2.1 commit bcef30d614b

\* The high watermark that a follower adopts from a fetch response: the leader's, up to its own end offset.
FollowerHighWatermark(leader_high_watermark, end_offset) == Min(leader_high_watermark, end_offset)

\* Copy one entry from leader to follower, with the leader's high watermark.
FetchNextEntry(s, leader, follower) ==
  LET offset == Len(s.replicas[follower].log)
      entry == s.replicas[leader].log[offset + 1]
  IN [s EXCEPT !.replicas[follower].log = Append(@, [record |-> entry.record, epoch |-> entry.epoch]),
               !.replicas[follower].high_watermark =
                   FollowerHighWatermark(s.replicas[leader].high_watermark, offset + 1)]

FollowerFetch(leader, follower) ==
  /\ LeaderPresumesLeadership(state, leader)
  /\ FollowerIsInLeadersEpoch(state, leader, follower)
  /\ LeaderHasMore(state, leader, follower)
  /\ Step(FetchNextEntry(state, leader, follower))

--------------------------------------------------------------------------------------------------------------
\* The behaviours

\* the initial state
Init == state = FreshPartition

Next ==
  \/ \E replica \in 0..Replicas - 1 : ControllerElectLeader(replica)
  \/ \E replica \in 0..Replicas - 1 : ControllerShrinkIsr(replica)
  \/ \E request \in 0..Len(state.requests) - 1 : BecomeLeader(request)
  \/ \E request \in 0..Len(state.requests) - 1 :
       \E replica \in 0..Replicas - 1 : BecomeFollower(request, replica)
  \/ \E leader \in 0..Replicas - 1 : LeaderWrite(leader)
  \/ \E leader \in 0..Replicas - 1 : LeaderIncHighWatermark(leader)
  \/ \E leader \in 0..Replicas - 1 : \E follower \in 0..Replicas - 1 : LeaderShrinkIsr(leader, follower)
  \/ \E leader \in 0..Replicas - 1 : \E follower \in 0..Replicas - 1 : LeaderExpandIsr(leader, follower)
  \/ \E leader \in 0..Replicas - 1 : \E follower \in 0..Replicas - 1 : FollowerFetch(leader, follower)

Spec == Init /\ [][Next]_state

--------------------------------------------------------------------------------------------------------------
\* The properties

\* Each field stays in its domain.
TypeInvariant == state \in PartitionType

\* Some replica believes that it leads, and exposes a record.
ALeaderExposes(s) ==
  \E leader \in 0..Replicas - 1 : s.replicas[leader].leader = leader /\ s.replicas[leader].high_watermark > 0

\* Whether both logs reach `end` and hold the same entries below it.
HoldsSamePrefix(log, other, end) ==
  end <= Len(log) /\ end <= Len(other) /\ (\A offset \in 0..end - 1 : SameEntry(log, other, offset))

\* Every member of the set holds the leader's entries below the leader's high watermark.
MembersHoldCommitted(s, leader, isr) ==
  LET end == s.replicas[leader].high_watermark
  IN \A member \in 0..Replicas - 1 :
       member \in isr => HoldsSamePrefix(s.replicas[leader].log, s.replicas[member].log, end)

\* The members of each leader's own ISR hold all entries that the leader exposes.
WeakIsrHolds(s) ==
  \A leader \in 0..Replicas - 1 :
    s.replicas[leader].leader = leader => MembersHoldCommitted(s, leader, s.replicas[leader].isr)

\* The members of the ISR that a leader believes in hold its log up to its high watermark.
\*
\* Source: KafkaReplication.tla (hachikuji/kafka-specification): WeakIsr
WeakIsr == ALeaderExposes(state) => WeakIsrHolds(state)

\* The members of ZooKeeper's ISR hold all entries that any leader exposes.
StrongIsrHolds(s) ==
  \A leader \in 0..Replicas - 1 :
    s.replicas[leader].leader = leader => MembersHoldCommitted(s, leader, s.quorum.isr)

\* The members of ZooKeeper's ISR hold every leader's log up to its high watermark: records that a consumer
\* may have read survive on every replica that may be elected.
\*
\* Source: KafkaReplication.tla (hachikuji/kafka-specification): StrongIsr
StrongIsr == ALeaderExposes(state) => StrongIsrHolds(state)

\* There is a leader in ZooKeeper.
ThereIsALeader(s) == s.quorum.leader # NONE

\* ZooKeeper's leader is in ZooKeeper's ISR.
LeaderInIsrHolds(s) == s.quorum.leader \in s.quorum.isr

\* ZooKeeper's leader is a member of its ISR, or there is none (the original omits this case; its initial
\* state violates it).
\*
\* Source: KafkaReplication.tla (hachikuji/kafka-specification): LeaderInIsr
LeaderInIsr == ThereIsALeader(state) => LeaderInIsrHolds(state)

\* The controller has elected a leader.
ALeaderWasElected(s) == s.quorum.leader_epoch # NO_EPOCH

\* A goal: TLC reaches it where it finds that NeverElected is violated. A leader gets elected.
\*
\* Source: goal
NeverElected == ~ALeaderWasElected(state)

\* Some leader of an ISR of at least two exposes a record.
ARecordIsCommitted(s) ==
  \E leader \in 0..Replicas - 1 :
    LET replica == s.replicas[leader]
    IN replica.leader = leader /\ replica.high_watermark > 0 /\ replica.isr \ {leader} # {}

\* A goal: TLC reaches it where it finds that NeverCommitted is violated. A record gets committed on two
\* replicas.
\*
\* Source: goal
NeverCommitted == ~ARecordIsCommitted(state)

==============================================================================================================
