package kafka.cluster;

import java.io.IOException;
import java.util.Set;

import org.apache.kafka.common.protocol.Errors;
import org.junit.jupiter.api.Test;

import static org.junit.jupiter.api.Assertions.assertEquals;

/**
 * Finding high-watermark-waits-after-rollback: a refused proposal leaves a smaller ISR, whose records are committed at once.
 */
final class RolledBackProposalTest extends LeadingPartition {
    @Test
    void testHighWatermarkAdvancesAfterRefusedProposal() throws IOException {
        lead(5, 1, LEADER);
        fetch(FOLLOWER, 0);
        assertEquals(Set.of(LEADER, FOLLOWER), maximalIsr());

        // A record waits for the proposed member, which ends and is fenced
        append(5);
        assertEquals(0, highWatermark());
        fence(FOLLOWER);

        alterPartitionManager().failIsrUpdate(Errors.INELIGIBLE_REPLICA);

        assertEquals(Set.of(LEADER), maximalIsr());
        assertEquals(1, highWatermark(), "high-watermark-waits-after-rollback");
    }
}
