package kafka.cluster;

import java.io.IOException;
import java.util.Optional;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.apache.kafka.common.requests.FetchRequest;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.server.storage.log.FetchParams;
import org.mockito.Mockito;
import scala.Option;

/**
 * A partition with two followers, whose leader is this broker: images of the metadata log, fetches and records arrive one by one.
 */
abstract class LeadingPartition extends AppliedImages {
    static final int LEADER = 101;
    static final int FOLLOWER = 102;
    static final int OTHER = 103;
    static final int[] REPLICAS = {LEADER, FOLLOWER, OTHER};

    /** The leader applies an image of the metadata log. */
    void lead(int leaderEpoch, int partitionEpoch, int... isr) {
        for (int replica : REPLICAS) {
            Mockito.when(metadataCache().getAliveBrokerEpoch(replica)).thenReturn(Optional.of(defaultBrokerEpoch(replica)));
        }
        partition().createLogIfNotExists(partitionEpoch == 1, false, offsetCheckpoints(), topicId(), Option.empty());
        apply(LEADER, REPLICAS, isr, leaderEpoch, partitionEpoch);
    }

    /** A follower fetches from an offset, so that the leader knows where its log ends. */
    void fetch(int follower, long offset) {
        FetchParams params = new FetchParams(
            follower, defaultBrokerEpoch(follower), 0, 1, Integer.MAX_VALUE, FetchIsolation.LOG_END, Optional.empty()
        );
        partition().fetchRecords(
            params,
            new FetchRequest.PartitionData(Uuid.ZERO_UUID, offset, 0, Integer.MAX_VALUE, Optional.empty(), Optional.empty()),
            time().milliseconds(),
            Integer.MAX_VALUE,
            true,
            true
        );
    }

    /** A record is appended to the leader's log. */
    void append(int leaderEpoch) throws IOException {
        MemoryRecords records = MemoryRecords.withRecords(Compression.NONE, new SimpleRecord("value".getBytes()));
        partition().localLogOrException().appendAsLeader(records, leaderEpoch);
    }

    /** The controller has fenced a broker, and the leader's metadata cache shows it. */
    void fence(int replica) {
        Mockito.when(metadataCache().isBrokerFenced(replica)).thenReturn(true);
    }

    long highWatermark() {
        return partition().localLogOrException().highWatermark();
    }
}
