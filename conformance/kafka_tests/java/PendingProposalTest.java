package kafka.cluster;

import java.util.Set;

import org.junit.jupiter.api.Test;

import static org.junit.jupiter.api.Assertions.assertEquals;

/**
 * Finding proposal-dropped-at-known-epoch: an image whose partition epoch the leader knows already leaves a newer proposal pending.
 */
final class PendingProposalTest extends LeadingPartition {
    @Test
    void testImageOfKnownPartitionEpochKeepsPendingProposal() {
        lead(5, 1, LEADER);
        fetch(FOLLOWER, 0);
        alterPartitionManager().completeIsrUpdate(2);
        assertEquals(Set.of(LEADER, FOLLOWER), maximalIsr());

        // The next proposal follows before the metadata log has brought the first change. The controller may accept it
        // at any time, and then elect the proposed member
        fetch(OTHER, 0);
        assertEquals(Set.of(LEADER, FOLLOWER, OTHER), maximalIsr());

        // The image of the first change arrives: the leader knows its partition epoch from the controller's answer
        lead(5, 2, LEADER, FOLLOWER);

        assertEquals(Set.of(LEADER, FOLLOWER, OTHER), maximalIsr(), "proposal-dropped-at-known-epoch");
    }
}
