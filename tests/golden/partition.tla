---- MODULE partition ----
\* Partition, Kafka 2.8. Source: Kafka 2.8 PartitionStateMachine.scala:38-578, PartitionState.validPreviousStates
VARIABLE current

States == {"NON_EXISTENT", "NEW", "ONLINE", "OFFLINE"}
InitialState == "NON_EXISTENT"

LegalPairs == {
  <<"NON_EXISTENT", "NEW">>,
  <<"NEW", "ONLINE">>,
  <<"ONLINE", "ONLINE">>,
  <<"OFFLINE", "ONLINE">>,
  <<"NEW", "OFFLINE">>,
  <<"ONLINE", "OFFLINE">>,
  <<"OFFLINE", "OFFLINE">>,
  <<"OFFLINE", "NON_EXISTENT">>
}

new_partition ==
  \/ current \in {"NON_EXISTENT"} /\ current' = "NEW"

online_partition ==
  \* [an_assigned_replica_is_live and state_znode_is_absent] / create_state_znode, send_leader_and_isr_to_first_isr
  \/ current \in {"NEW"} /\ current' = "ONLINE"
  \* [no_newer_controller_wrote and a_leader_can_be_elected] / write_elected_leader_and_isr, send_leader_and_isr_to_recipients
  \/ current \in {"ONLINE", "OFFLINE"} /\ current' = "ONLINE"

offline_partition ==
  \/ current \in {"NEW"} /\ current' = "OFFLINE"
  \/ current \in {"ONLINE", "OFFLINE"} /\ current' = "OFFLINE"

non_existent_partition ==
  \/ current \in {"OFFLINE"} /\ current' = "NON_EXISTENT"

startup ==
  \* [not leadership_is_known]
  \/ current \in {"NON_EXISTENT"} /\ current' = "NEW"
  \* [leadership_is_known and cached_leader_is_live]
  \/ current \in {"NON_EXISTENT"} /\ current' = "ONLINE"
  \* [leadership_is_known and not cached_leader_is_live]
  \/ current \in {"NON_EXISTENT"} /\ current' = "OFFLINE"

shutdown ==
  \/ current \in {"NON_EXISTENT", "NEW", "ONLINE", "OFFLINE"} /\ current' = "NON_EXISTENT"

Init == current = InitialState
Next == new_partition \/ online_partition \/ offline_partition \/ non_existent_partition
Seeds == startup \/ shutdown
NextWithSeeds == Next \/ Seeds
Spec == Init /\ [][Next]_current
SpecWithSeeds == Init /\ [][NextWithSeeds]_current

TypeOK == current \in States
LegalStep == <<current, current'>> \in LegalPairs
OnlyLegal == [][LegalStep]_current
====
