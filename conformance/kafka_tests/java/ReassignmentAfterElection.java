/**
 * Finding reassignment-waits-after-election: an election that puts the whole target into the ISR completes the reassignment.
 */
@Test
public void testReassignmentWaitsAfterElection() throws Exception {
    ReplicationControlTestContext ctx = new ReplicationControlTestContext.Builder().setIsElrEnabled(true).build();
    ctx.registerBrokers(0, 1);
    ctx.unfenceBrokers(0, 1);
    Uuid topicId = ctx.createTestTopic("foo", new int[][] {new int[] {0, 1}}).topicId();
    ctx.alterTopicConfig("foo", TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG, "2");
    ctx.fenceBrokers(Set.of(1));
    ctx.unfenceBrokers(1);
    PartitionRegistration partition = ctx.replicationControl.getPartition(topicId, 0);
    assertEquals(Set.of(0), Replicas.toSet(partition.isr));
    assertEquals(Set.of(1), Replicas.toSet(partition.elr));

    ctx.replay(ctx.replicationControl.alterPartitionReassignments(
        new AlterPartitionReassignmentsRequestData().setTopics(List.of(
            new ReassignableTopic().setName("foo").setPartitions(List.of(
                new ReassignablePartition().setPartitionIndex(0).setReplicas(List.of(1))))))).records());
    assertEquals(Set.of(0), Replicas.toSet(ctx.replicationControl.getPartition(topicId, 0).removingReplicas));

    // The leader, which is to be removed, ends: the target is elected from the ELR, and is the whole ISR
    ctx.fenceBrokers(Set.of(0));
    partition = ctx.replicationControl.getPartition(topicId, 0);
    assertEquals(Set.of(1), Replicas.toSet(partition.isr));

    assertEquals(Set.of(), Replicas.toSet(partition.removingReplicas), "reassignment-waits-after-election");
}
