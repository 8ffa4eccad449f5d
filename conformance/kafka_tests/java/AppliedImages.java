package kafka.cluster;

import java.util.Set;

import org.apache.kafka.common.DirectoryId;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.metadata.PartitionRegistration;
import scala.Option;

/**
 * How a leader applies an image of the metadata log.
 */
abstract class AppliedImages extends AbstractPartitionTest {
    void apply(int leader, int[] replicas, int[] isr, int leaderEpoch, int partitionEpoch) {
        PartitionRegistration image = new PartitionRegistration.Builder()
            .setReplicas(replicas)
            .setDirectories(DirectoryId.unassignedArray(replicas.length))
            .setIsr(isr)
            .setLeader(leader)
            .setLeaderRecoveryState(LeaderRecoveryState.RECOVERED)
            .setLeaderEpoch(leaderEpoch)
            .setPartitionEpoch(partitionEpoch)
            .build();
        partition().makeLeader(image, partitionEpoch == 1, offsetCheckpoints(), topicId(), Option.empty());
    }

    Set<Integer> maximalIsr() {
        return Set.copyOf(partition().partitionState().maximalIsr());
    }
}
