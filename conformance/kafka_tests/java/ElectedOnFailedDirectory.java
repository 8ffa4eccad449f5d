/**
 * Finding elected-on-failed-directory: a heartbeat that ends a fence and reports a failed directory elects nobody for it.
 */
@Test
public void testUnfencingHeartbeatReportsFailedDirectory() {
    ReplicationControlTestContext ctx = new ReplicationControlTestContext.Builder().setIsElrEnabled(true).build();
    Uuid failed = Uuid.randomUuid();
    ctx.registerBrokersWithDirs(0, List.of(Uuid.randomUuid()), 1, List.of(failed, Uuid.randomUuid()));
    ctx.unfenceBrokers(0, 1);
    Uuid topicId = ctx.createTestTopic("foo", new int[][] {new int[] {0, 1}}).topicId();
    ctx.alterTopicConfig("foo", TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG, "2");
    org.apache.kafka.server.common.TopicIdPartition replica = new org.apache.kafka.server.common.TopicIdPartition(topicId, 0);
    ctx.assignReplicasToDirs(1, java.util.Map.of(replica, failed));
    ctx.fenceBrokers(Set.of(0, 1));

    // The directory of its replica has failed when broker 1 is heard again
    ctx.replay(ctx.replicationControl.processBrokerHeartbeat(
        new org.apache.kafka.common.message.BrokerHeartbeatRequestData().setBrokerId(1).setBrokerEpoch(101)
            .setCurrentMetadataOffset(1).setOfflineLogDirs(List.of(failed)), 0).records());
    assertNotEquals(1, ctx.replicationControl.getPartition(topicId, 0).leader, "elected-on-failed-directory");

    // Another replica that holds all records comes back
    ctx.unfenceBrokers(0);
    assertEquals(0, ctx.replicationControl.getPartition(topicId, 0).leader);
}
