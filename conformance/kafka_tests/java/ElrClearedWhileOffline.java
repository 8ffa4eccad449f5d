/**
 * Finding elr-cleared-while-offline: a change of min.insync.replicas leaves a partition without a leader its candidates.
 */
@Test
public void testMinIsrChangeKeepsCandidatesOfOfflinePartition() throws Exception {
    ReplicationControlTestContext ctx = new ReplicationControlTestContext.Builder().setIsElrEnabled(true).build();
    ctx.registerBrokers(0, 1, 2);
    ctx.unfenceBrokers(0, 1, 2);
    Uuid topicId = ctx.createTestTopic("foo", new int[][] {new int[] {0, 1}}).topicId();
    ctx.alterTopicConfig("foo", TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG, "2");

    // Both brokers stop. Nobody leads, and both hold all committed records
    ctx.fenceBrokers(Set.of(0, 1));
    assertArrayEquals(new int[0], ctx.replicationControl.getPartition(topicId, 0).isr);
    assertArrayEquals(new int[] {0, 1}, ctx.replicationControl.getPartition(topicId, 0).elr);

    // The records of incrementalAlterConfigs
    ctx.alterTopicConfig("foo", TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG, "1");
    ctx.replicationControl.replay(new org.apache.kafka.common.metadata.ClearElrRecord().setTopicName("foo"));

    ctx.unfenceBrokers(0, 1);

    PartitionRegistration partition = ctx.replicationControl.getPartition(topicId, 0);
    assertEquals(0, partition.leader, "elr-cleared-while-offline");
    // One member in sync is enough now, and the leader commits without the other broker
    assertArrayEquals(new int[0], partition.elr);
}
