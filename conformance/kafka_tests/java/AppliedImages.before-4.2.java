package kafka.cluster;

import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import org.apache.kafka.common.requests.LeaderAndIsrRequest;
import org.apache.kafka.metadata.LeaderRecoveryState;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * How a leader of Kafka 4.1 applies an image of the metadata log: as a LeaderAndIsr request. Its sets are Scala's.
 */
abstract class AppliedImages extends AbstractPartitionTest {
    void apply(int leader, int[] replicas, int[] isr, int leaderEpoch, int partitionEpoch) {
        LeaderAndIsrRequest.PartitionState image = new LeaderAndIsrRequest.PartitionState()
            .setControllerEpoch(0)
            .setReplicas(boxed(replicas))
            .setIsr(boxed(isr))
            .setLeader(leader)
            .setLeaderRecoveryState(LeaderRecoveryState.RECOVERED.value())
            .setLeaderEpoch(leaderEpoch)
            .setPartitionEpoch(partitionEpoch)
            .setIsNew(partitionEpoch == 1);
        partition().makeLeader(image, offsetCheckpoints(), topicId(), Option.empty());
    }

    private static List<Integer> boxed(int... ids) {
        return IntStream.of(ids).boxed().toList();
    }

    Set<Integer> maximalIsr() {
        Set<?> held = CollectionConverters.asJava(partition().partitionState().maximalIsr());
        return held.stream().map(id -> (Integer) id).collect(Collectors.toSet());
    }
}
