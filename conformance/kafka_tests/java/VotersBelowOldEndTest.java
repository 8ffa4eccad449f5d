package org.apache.kafka.raft.internals;

import java.nio.ByteBuffer;
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
import org.apache.kafka.server.common.OffsetAndEpoch;
import org.junit.jupiter.api.Test;
import org.mockito.Mockito;

import static org.junit.jupiter.api.Assertions.assertEquals;

/**
 * Finding voters-skipped-after-truncation: the voters in force are the last in the log, also below an end that was truncated.
 */
final class VotersBelowOldEndTest {
    private static final int FIRST_EPOCH = 1;
    private static final int NEXT_EPOCH = 2;

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
    void testVotersBelowTruncatedEndAreRead() {
        VoterSet three = voters(1, 2, 3);
        VoterSet two = voters(2, 3);

        appendVoters(three, FIRST_EPOCH);
        IntStream.range(0, 4).forEach(ignored -> appendData(FIRST_EPOCH));
        partitionState.updateState();
        assertEquals(three, partitionState.lastVoterSet());

        // Only this replica has the data records: it truncates them, and the next leader has changed the voters
        log.truncateToEndOffset(new OffsetAndEpoch(1, FIRST_EPOCH));
        partitionState.truncateNewEntries(1);
        appendVoters(two, NEXT_EPOCH);
        partitionState.updateState();

        assertEquals(two, partitionState.lastVoterSet(), "voters-skipped-after-truncation");
    }

    private static VoterSet voters(int... ids) {
        return VoterSetTest.voterSet(VoterSetTest.voterMap(IntStream.of(ids), true));
    }

    private void appendVoters(VoterSet voters, int epoch) {
        log.initializeLeaderEpoch(epoch);
        log.appendAsFollower(
            MemoryRecords.withVotersRecord(
                log.endOffset().offset(), 0, epoch, ByteBuffer.allocate(1024), voters.toVotersRecord((short) 0)
            ),
            epoch
        );
    }

    private void appendData(int epoch) {
        log.appendAsFollower(
            MemoryRecords.withRecords(log.endOffset().offset(), Compression.NONE, epoch, new SimpleRecord("x".getBytes())), epoch
        );
    }
}
