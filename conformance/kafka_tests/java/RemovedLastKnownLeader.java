/**
 * Finding last-known-leader-outside-replicas: a last known leader that is not a replica any more is not elected.
 */
@Test
public void testRemovedLastKnownLeaderIsUnfenced() throws Exception {
    ReplicationControlTestContext ctx = new ReplicationControlTestContext.Builder().setIsElrEnabled(true).build();
    ctx.registerBrokers(0, 1);
    ctx.unfenceBrokers(0, 1);
    Uuid topicId = ctx.createTestTopic("foo", new int[][] {new int[] {0, 1}}).topicId();
    ctx.alterTopicConfig("foo", TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG, "1");
    ctx.alterTopicConfig("foo", TopicConfig.UNCLEAN_LEADER_ELECTION_ENABLE_CONFIG, "true");

    // Both end, broker 1 last: it is the last known leader
    ctx.fenceBrokers(Set.of(0));
    ctx.fenceBrokers(Set.of(0, 1));
    assertArrayEquals(new int[] {1}, ctx.replicationControl.getPartition(topicId, 0).lastKnownElr);

    // A reassignment to 0, its cancellation, which makes 0 the ISR, and the reassignment once more, which is complete at once
    for (List<Integer> target : Arrays.asList(List.of(0), null, List.of(0))) {
        ctx.replay(ctx.replicationControl.alterPartitionReassignments(
            new AlterPartitionReassignmentsRequestData().setTopics(List.of(
                new ReassignableTopic().setName("foo").setPartitions(List.of(
                    new ReassignablePartition().setPartitionIndex(0).setReplicas(target)))))).records());
    }
    PartitionRegistration partition = ctx.replicationControl.getPartition(topicId, 0);
    assertArrayEquals(new int[] {0}, partition.replicas);
    assertEquals(NO_LEADER, partition.leader);

    // Broker 0 registers after a crash, and leaves the ISR
    ctx.handleBrokersShutdown(false, 0);
    assertEquals(Set.of(), Replicas.toSet(ctx.replicationControl.getPartition(topicId, 0).isr));

    org.junit.jupiter.api.Assertions.assertDoesNotThrow(() -> ctx.unfenceBrokers(1), "last-known-leader-outside-replicas");
}
