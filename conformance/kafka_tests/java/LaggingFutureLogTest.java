package kafka.cluster;

import java.io.File;
import java.io.IOException;
import java.util.Map;

import kafka.log.LogManager;
import org.apache.kafka.common.DirectoryId;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.image.TopicImage;
import org.apache.kafka.image.TopicsImage;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.metadata.PartitionRegistration;
import org.junit.jupiter.api.Test;
import org.mockito.Mockito;
import scala.Option;

import static org.junit.jupiter.api.Assertions.assertEquals;

/**
 * Finding lagging-future-log-promoted: a broker that starts keeps a log that has more records than its future log.
 */
final class LaggingFutureLogTest extends LeadingPartition {
    @Test
    void testFutureLogThatLagsIsNotPromoted() throws IOException {
        lead(5, 1, LEADER);
        String directory = otherDirectory();
        logManager().maybeUpdatePreferredLogDir(topicPartition(), directory);
        partition().maybeCreateFutureReplica(directory, offsetCheckpoints(), topicId());
        // The copy has caught up, and the controller has noted its directory; now the log grows, and the broker ends
        append(5);

        Uuid directoryId = Uuid.randomUuid();
        LogManager restarted = Mockito.spy(logManager());
        Mockito.doReturn(Option.apply(directoryId)).when(restarted).directoryId(directory);
        restarted.recoverAbandonedFutureLogs(LEADER, metadata(directoryId));

        assertEquals(1, restarted.getLog(topicPartition(), false).get().logEndOffset(), "lagging-future-log-promoted");
    }

    /** The log directory in which the leader's log does not lie. */
    private String otherDirectory() {
        File first = logDir1();
        boolean isInFirst = partition().localLogOrException().parentDir().equals(first.getAbsolutePath());
        return (isInFirst ? logDir2() : first).getAbsolutePath();
    }

    /** The metadata in which the leader's replica lies in a directory. */
    private TopicsImage metadata(Uuid directoryId) {
        PartitionRegistration image = new PartitionRegistration.Builder()
            .setReplicas(REPLICAS)
            .setDirectories(new Uuid[] {directoryId, DirectoryId.UNASSIGNED, DirectoryId.UNASSIGNED})
            .setIsr(new int[] {LEADER})
            .setLeader(LEADER)
            .setLeaderRecoveryState(LeaderRecoveryState.RECOVERED)
            .setLeaderEpoch(5)
            .setPartitionEpoch(2)
            .build();
        return TopicsImage.EMPTY.including(new TopicImage(topicPartition().topic(), topicId().get(), Map.of(0, image)));
    }
}
