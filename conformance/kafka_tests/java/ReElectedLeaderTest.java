package kafka.cluster;

import java.io.IOException;

import org.junit.jupiter.api.Test;

import static org.junit.jupiter.api.Assertions.assertEquals;

/**
 * Finding re-elected-leader-remembers: a leader of a new epoch knows nothing of its followers' logs until they fetch in that epoch.
 */
final class ReElectedLeaderTest extends LeadingPartition {
    @Test
    void testReElectedLeaderForgetsWhereFollowersEnd() throws IOException {
        lead(5, 1, LEADER, FOLLOWER, OTHER);
        append(5);
        fetch(FOLLOWER, 1);
        assertEquals(0, highWatermark());

        // One image takes the leader from epoch 5 to epoch 7. In epoch 6 another broker led, and the follower, which applied
        // that image, truncated the record
        lead(7, 3, LEADER, FOLLOWER);

        assertEquals(0, highWatermark(), "re-elected-leader-remembers");
    }
}
