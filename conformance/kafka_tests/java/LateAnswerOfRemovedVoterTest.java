package org.apache.kafka.raft;

import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.stream.Stream;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.protocol.Errors;
import org.junit.jupiter.api.Test;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

/**
 * Finding removed-voter-ends-leader: a leader survives the answer of a voter that it has removed since it sent the request.
 */
final class LateAnswerOfRemovedVoterTest {
    private final ReplicaKey local = ReplicaKey.of(1, Uuid.randomUuid());
    private final ReplicaKey follower = ReplicaKey.of(2, Uuid.randomUuid());
    private final ReplicaKey removed = ReplicaKey.of(3, Uuid.randomUuid());

    @Test
    void testLeaderIgnoresAnswerOfRemovedVoter() throws Exception {
        VoterSet voters = VoterSetTest.voterSet(Stream.of(local, follower, removed));
        RaftClientTestContext context = new RaftClientTestContext.Builder(local.id(), local.directoryId().get())
            .withKip853Rpc(true)
            .withBootstrapSnapshot(Optional.of(voters))
            .withUnknownLeader(3)
            .build();
        context.unattachedToLeader();
        int epoch = context.currentEpoch();
        fetch(context, epoch);

        // Voter 3 is silent, and is sent a BeginQuorumEpoch request
        context.time.sleep(context.beginQuorumEpochTimeoutMs);
        context.pollUntilRequest();
        RaftRequest.Outbound request = toRemoved(context.collectBeginEpochRequests(epoch));

        // It is removed before it answers
        context.deliverRequest(context.removeVoterRequest(removed));
        context.client.poll();
        context.client.poll();
        fetch(context, epoch);
        context.pollUntilResponse();
        context.assertSentRemoveVoterResponse(Errors.NONE);
        assertFalse(context.client.quorum().isVoter(removed));

        context.deliverResponse(
            request.correlationId(), request.destination(), context.beginEpochResponse(epoch, local.id())
        );
        assertDoesNotThrow(() -> context.client.poll(), "removed-voter-ends-leader");
        assertTrue(context.client.quorum().isLeader());
    }

    private void fetch(RaftClientTestContext context, int epoch) throws Exception {
        context.deliverRequest(context.fetchRequest(epoch, follower, context.log.endOffset().offset(), epoch, 0));
        context.pollUntilResponse();
        context.assertSentFetchPartitionResponse(Errors.NONE, epoch, OptionalInt.of(local.id()));
    }

    private RaftRequest.Outbound toRemoved(List<RaftRequest.Outbound> requests) {
        return requests.stream().filter(request -> request.destination().id() == removed.id()).findFirst().get();
    }
}
