package kafka.cluster;

import java.io.IOException;
import java.util.Properties;

import org.apache.kafka.common.config.TopicConfig;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.junit.jupiter.api.Test;

import static org.junit.jupiter.api.Assertions.assertEquals;

/**
 * Finding high-watermark-waits-after-lowering: a smaller min.insync.replicas commits what the ISR has, without another write.
 */
final class LoweredMinIsrTest extends LeadingPartition {
    @Test
    void testHighWatermarkAdvancesAfterMinIsrWasLowered() throws IOException {
        lead(5, 1, LEADER);
        configure("2");
        append(5);
        // A look for slow followers, which a broker takes periodically
        partition().maybeShrinkIsr();
        assertEquals(0, highWatermark());

        configure("1");
        partition().maybeShrinkIsr();

        assertEquals(1, highWatermark(), "high-watermark-waits-after-lowering");
    }

    /** The operator has changed min.insync.replicas, and the log gets its new configuration. */
    private void configure(String minIsr) {
        Properties properties = new Properties();
        properties.put(TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG, minIsr);
        partition().localLogOrException().updateConfig(new LogConfig(properties));
    }
}
