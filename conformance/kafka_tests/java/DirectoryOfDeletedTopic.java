/**
 * Finding deleted-topic-stays-in-directory: a directory fails that held a partition without an ISR, whose topic is deleted.
 */
@Test
public void testDirectoryFailsAfterDeletionOfTopicWithoutIsr() throws Exception {
    ReplicationControlTestContext ctx = new ReplicationControlTestContext.Builder().setIsElrEnabled(true).build();
    Uuid failing = Uuid.randomUuid();
    ctx.registerBrokersWithDirs(0, List.of(failing, Uuid.randomUuid()), 1, List.of(Uuid.randomUuid()));
    ctx.unfenceBrokers(0, 1);
    Uuid topicId = ctx.createTestTopic("foo", new int[][] {new int[] {0}}).topicId();
    ctx.assignReplicasToDirs(0, java.util.Map.of(new org.apache.kafka.server.common.TopicIdPartition(topicId, 0), failing));

    // The only replica ends: it is an eligible leader, and the ISR is empty while the topic is deleted
    ctx.fenceBrokers(Set.of(0));
    assertArrayEquals(new int[0], ctx.replicationControl.getPartition(topicId, 0).isr);
    ctx.replay(ctx.replicationControl.deleteTopics(anonymousContextFor(ApiKeys.DELETE_TOPICS), List.of(topicId)).records());
    ctx.unfenceBrokers(0);

    org.junit.jupiter.api.Assertions.assertDoesNotThrow(
        () -> ctx.replicationControl.handleDirectoriesOffline(
            0, defaultBrokerEpoch(0), List.of(failing), new java.util.ArrayList<>()),
        "deleted-topic-stays-in-directory");
}
