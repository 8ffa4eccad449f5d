/**
 * Finding cleared-elr-stays-listed: a broker that was in a cleared ELR of a topic that is gone registers after an unclean shutdown.
 */
@Test
public void testRegistrationAfterClearedElrOfDeletedTopic() throws Exception {
    ReplicationControlTestContext ctx = new ReplicationControlTestContext.Builder().setIsElrEnabled(true).build();
    ctx.registerBrokers(0, 1);
    ctx.unfenceBrokers(0, 1);
    Uuid topicId = ctx.createTestTopic("foo", new int[][] {new int[] {0, 1}}).topicId();
    ctx.alterTopicConfig("foo", TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG, "2");

    // Broker 1 ends and stays in the ELR, which a change of min.insync.replicas empties
    ctx.fenceBrokers(Set.of(1));
    assertArrayEquals(new int[] {1}, ctx.replicationControl.getPartition(topicId, 0).elr);
    ctx.replicationControl.replay(new org.apache.kafka.common.metadata.ClearElrRecord().setTopicName("foo"));
    assertArrayEquals(new int[0], ctx.replicationControl.getPartition(topicId, 0).elr);

    ctx.replay(ctx.replicationControl.deleteTopics(anonymousContextFor(ApiKeys.DELETE_TOPICS), List.of(topicId)).records());

    org.junit.jupiter.api.Assertions.assertDoesNotThrow(() -> ctx.handleBrokersShutdown(false, 1), "cleared-elr-stays-listed");
}
