/**
 * Finding offline-directory-joins-isr: a replica does not join the ISR while the controller knows that its directory is offline.
 */
@Test
public void testReplicaInOfflineDirectoryIsIneligible() {
    ReplicationControlTestContext ctx = new ReplicationControlTestContext.Builder().setIsElrEnabled(true).build();
    Uuid failed = Uuid.randomUuid();
    ctx.registerBrokersWithDirs(0, List.of(Uuid.randomUuid()), 1, List.of(failed, Uuid.randomUuid()));
    ctx.unfenceBrokers(0, 1);
    Uuid topicId = ctx.createTestTopic("foo", new int[][] {new int[] {0, 1}}).topicId();
    ctx.alterTopicConfig("foo", TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG, "2");
    org.apache.kafka.server.common.TopicIdPartition replica = new org.apache.kafka.server.common.TopicIdPartition(topicId, 0);
    ctx.assignReplicasToDirs(1, java.util.Map.of(replica, failed));
    ctx.fenceBrokers(Set.of(1));
    ctx.unfenceBrokers(0, 1);

    // The directory fails while the leader's proposal of broker 1 is on its way
    ctx.replay(ctx.replicationControl.processBrokerHeartbeat(
        new org.apache.kafka.common.message.BrokerHeartbeatRequestData().setBrokerId(1).setBrokerEpoch(101)
            .setCurrentMetadataOffset(1).setOfflineLogDirs(List.of(failed)), 0).records());
    PartitionRegistration before = ctx.replicationControl.getPartition(topicId, 0);
    ctx.replay(ctx.replicationControl.alterPartition(
        anonymousContextFor(org.apache.kafka.common.protocol.ApiKeys.ALTER_PARTITION),
        new org.apache.kafka.common.message.AlterPartitionRequestData().setBrokerId(0).setBrokerEpoch(100).setTopics(List.of(
            new org.apache.kafka.common.message.AlterPartitionRequestData.TopicData().setTopicId(topicId).setPartitions(List.of(
                new org.apache.kafka.common.message.AlterPartitionRequestData.PartitionData().setPartitionIndex(0)
                    .setLeaderEpoch(before.leaderEpoch).setPartitionEpoch(before.partitionEpoch)
                    .setNewIsrWithEpochs(isrWithDefaultEpoch(0, 1))))))).records());
    assertArrayEquals(new int[] {0}, ctx.replicationControl.getPartition(topicId, 0).isr, "offline-directory-joins-isr");

    // The leader goes and comes back; no other replica is in sync
    ctx.fenceBrokers(Set.of(0));
    ctx.unfenceBrokers(0);
    assertEquals(0, ctx.replicationControl.getPartition(topicId, 0).leader);
}
