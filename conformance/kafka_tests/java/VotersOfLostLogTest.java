package org.apache.kafka.raft.internals;

import java.nio.ByteBuffer;
import java.util.Optional;
import java.util.stream.IntStream;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.apache.kafka.common.utils.BufferSupplier;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.raft.ExternalKRaftMetrics;
import org.apache.kafka.raft.MockLog;
import org.apache.kafka.raft.VoterSet;
import org.apache.kafka.raft.VoterSetTest;
import org.apache.kafka.server.common.KRaftVersion;
import org.apache.kafka.server.common.OffsetAndEpoch;
import org.apache.kafka.snapshot.RecordsSnapshotWriter;
import org.junit.jupiter.api.Test;
import org.mockito.Mockito;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

/**
 * Finding voters-of-lost-log-stay: the voters in force are those of the snapshot that has replaced the log.
 */
final class VotersOfLostLogTest {
    private static final int LOST_EPOCH = 1;
    private static final int NEXT_EPOCH = 2;
    private static final int LOST_BATCHES = 5;
    private static final int SNAPSHOT_END = 3;

    private final MockLog log = new MockLog(new TopicPartition("partition", 0), Uuid.randomUuid(), new LogContext());
    private final KRaftControlRecordStateMachine partitionState = new KRaftControlRecordStateMachine(
        VoterSet.empty(),
        log,
        new StringSerde(),
        BufferSupplier.NO_CACHING,
        1024,
        new LogContext(),
        new KafkaRaftMetrics(new Metrics(), "raft"),
        Mockito.mock(ExternalKRaftMetrics.class)
    );

    @Test
    void testVotersOfSnapshotReplaceThoseOfLongerLog() {
        VoterSet two = voters(2, 3);

        log.initializeLeaderEpoch(LOST_EPOCH);
        log.appendAsFollower(
            MemoryRecords.withVotersRecord(
                0, 0, LOST_EPOCH, ByteBuffer.allocate(1024), voters(1, 2, 3).toVotersRecord((short) 0)
            ),
            LOST_EPOCH
        );
        for (int i = 1; i < LOST_BATCHES; i++) {
            log.appendAsFollower(
                MemoryRecords.withRecords(i, Compression.NONE, LOST_EPOCH, new SimpleRecord("x".getBytes())), LOST_EPOCH
            );
        }
        partitionState.updateState();

        // The snapshot of the next leader ends before the log does, and replaces it (KafkaRaftClient.handleFetchSnapshotResponse)
        RecordsSnapshotWriter<String> snapshot = new RecordsSnapshotWriter.Builder()
            .setRawSnapshotWriter(log.createNewSnapshotUnchecked(new OffsetAndEpoch(SNAPSHOT_END, NEXT_EPOCH)).get())
            .setKraftVersion(KRaftVersion.KRAFT_VERSION_1)
            .setVoterSet(Optional.of(two))
            .build(new StringSerde());
        snapshot.freeze();
        snapshot.close();
        assertTrue(log.truncateToLatestSnapshot());
        partitionState.updateState();

        assertEquals(two, partitionState.lastVoterSet(), "voters-of-lost-log-stay");
    }

    private static VoterSet voters(int... ids) {
        return VoterSetTest.voterSet(VoterSetTest.voterMap(IntStream.of(ids), true));
    }
}
