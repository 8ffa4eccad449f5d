/**
 * Finding removed-directory-counts-as-clean: a replica whose directory was taken away starts empty, and holds no committed record.
 */
@Test
public void testReplicaOfRemovedDirectoryLeavesElr() {
    ReplicationControlTestContext ctx = new ReplicationControlTestContext.Builder().setIsElrEnabled(true).build();
    Uuid kept = Uuid.randomUuid();
    Uuid removed = Uuid.randomUuid();
    ctx.registerBrokersWithDirs(0, List.of(Uuid.randomUuid()), 1, List.of(kept, removed));
    ctx.unfenceBrokers(0, 1);
    Uuid topicId = ctx.createTestTopic("foo", new int[][] {new int[] {0, 1}}).topicId();
    ctx.alterTopicConfig("foo", TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG, "2");
    org.apache.kafka.server.common.TopicIdPartition replica = new org.apache.kafka.server.common.TopicIdPartition(topicId, 0);
    ctx.assignReplicasToDirs(1, java.util.Map.of(replica, removed));

    // Broker 1 ends in order, and is an eligible leader replica
    ctx.fenceBrokers(Set.of(1));
    assertArrayEquals(new int[] {1}, ctx.replicationControl.getPartition(topicId, 0).elr);

    // It starts without the directory of its replica, which it creates in the other one
    ctx.registerBrokersWithDirs(1, List.of(kept));
    ctx.assignReplicasToDirs(1, java.util.Map.of(replica, kept));

    assertArrayEquals(
        new int[0], ctx.replicationControl.getPartition(topicId, 0).elr, "removed-directory-counts-as-clean");
}
