package org.apache.kafka.raft;

import java.util.Optional;
import java.util.OptionalInt;
import java.util.stream.Stream;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Errors;
import org.junit.jupiter.api.Test;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

/**
 * Finding removed-voter-does-not-campaign: a leader that has removed itself campaigns while nobody else may have the new voters.
 */
final class RemovedVoterCampaignsTest {
    private static final int POLLS = 50;

    private final ReplicaKey local = ReplicaKey.of(1, Uuid.randomUuid());
    private final ReplicaKey follower = ReplicaKey.of(2, Uuid.randomUuid());

    @Test
    void testRemovedLeaderCampaigns() throws Exception {
        VoterSet voters = VoterSetTest.voterSet(Stream.of(local, follower));
        RaftClientTestContext context = new RaftClientTestContext.Builder(local.id(), local.directoryId().get())
            .withKip853Rpc(true)
            .withBootstrapSnapshot(Optional.of(voters))
            .withUnknownLeader(3)
            .build();
        context.unattachedToLeader();
        int epoch = context.currentEpoch();
        context.deliverRequest(context.fetchRequest(epoch, follower, context.log.endOffset().offset(), epoch, 0));
        context.pollUntilResponse();
        context.assertSentFetchPartitionResponse(Errors.NONE, epoch, OptionalInt.of(local.id()));

        // The leader removes itself, and resigns before the other voter fetches
        context.deliverRequest(context.removeVoterRequest(local));
        context.client.poll();
        context.client.poll();
        assertFalse(context.client.quorum().isVoter(local));
        context.client.resign(epoch);
        context.client.poll();
        assertTrue(context.client.quorum().isResigned());

        // The other voter would vote for it, since only its log has the new voters
        boolean asks = false;
        for (int polls = 0; polls < POLLS; polls++) {
            context.time.sleep(context.electionTimeoutMs() / 5L);
            context.client.poll();
            asks |= !context.channel.drainSentRequests(Optional.of(ApiKeys.VOTE)).isEmpty();
        }
        assertTrue(asks, "removed-voter-does-not-campaign");
    }
}
