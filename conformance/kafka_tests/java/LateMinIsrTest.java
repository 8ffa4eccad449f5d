package kafka.cluster;

import java.io.IOException;

import org.junit.jupiter.api.Test;

import static org.junit.jupiter.api.Assertions.assertEquals;

/**
 * Finding raised-min-isr-learned-late: the controller's answer overtakes the metadata log, which may have a larger min.insync.replicas.
 */
final class LateMinIsrTest extends LeadingPartition {
    @Test
    void testAnswerToShrinkCommitsNothingBeforeTheMetadataLogHasIt() throws IOException {
        lead(5, 1, LEADER, FOLLOWER);
        append(5);
        assertEquals(0, highWatermark());

        // The operator has set min.insync.replicas=2, which the metadata log has not brought to this broker. The controller
        // knows it: it takes the follower out of the ISR, and keeps it as an eligible leader replica
        time().sleep(40_000);
        partition().maybeShrinkIsr();
        alterPartitionManager().completeIsrUpdate(2);

        assertEquals(0, highWatermark(), "raised-min-isr-learned-late");

        // Here nobody has changed min.insync.replicas, and one member in sync is enough
        lead(5, 2, LEADER);
        assertEquals(1, highWatermark());
    }
}
