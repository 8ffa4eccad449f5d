package org.apache.kafka.raft;

import java.util.Optional;
import java.util.stream.Stream;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.server.common.OffsetAndEpoch;
import org.apache.kafka.snapshot.SnapshotWriter;
import org.junit.jupiter.api.Test;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

/**
 * Finding voters-dropped-by-snapshot: the voters in a snapshot stay known while the voters after it are not committed.
 */
final class VotersBeforeSnapshotTest {
    private final ReplicaKey local = ReplicaKey.of(1, Uuid.randomUuid());
    private final ReplicaKey follower = ReplicaKey.of(2, Uuid.randomUuid());
    private final ReplicaKey removed = ReplicaKey.of(3, Uuid.randomUuid());

    @Test
    void testVotersOfSnapshotStay() throws Exception {
        VoterSet voters = VoterSetTest.voterSet(Stream.of(local, follower, removed));
        RaftClientTestContext context = new RaftClientTestContext.Builder(local.id(), local.directoryId().get())
            .withKip853Rpc(true)
            .withBootstrapSnapshot(Optional.of(voters))
            .withUnknownLeader(3)
            .build();
        context.unattachedToLeader();
        int epoch = context.currentEpoch();
        context.advanceLocalLeaderHighWatermarkToLogEndOffset();
        long committed = context.log.endOffset().offset();

        // The leader appends other voters, and writes a snapshot that ends where they begin
        context.deliverRequest(context.removeVoterRequest(removed));
        context.client.poll();
        context.client.poll();
        assertFalse(context.client.quorum().isVoter(removed));
        try (SnapshotWriter<String> snapshot = context.client.createSnapshot(new OffsetAndEpoch(committed, epoch), 0).get()) {
            snapshot.freeze();
        }

        // Another leader does not have these voters
        context.deliverRequest(context.beginEpochRequest(epoch + 1, follower.id()));
        context.pollUntilResponse();
        context.pollUntilRequest();
        RaftRequest.Outbound fetch = context.assertSentFetchRequest();
        context.deliverResponse(
            fetch.correlationId(),
            fetch.destination(),
            context.divergingFetchResponse(epoch + 1, follower.id(), committed, epoch, committed)
        );
        context.client.poll();

        assertTrue(context.client.quorum().isVoter(local), "voters-dropped-by-snapshot");
    }
}
