"""`kafka-spec validate` reads metadata logs of real KRaft clusters, and judges each record by the properties of the model."""

from __future__ import annotations

import gzip
import json
import shutil
import tarfile
from pathlib import Path

import pytest
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from hypothesis import given
from hypothesis import strategies as some

from kafka_spec.conformance.metadata.batches import LogBatch, batches_of
from kafka_spec.conformance.metadata.claims import INVARIANTS, NOT_IN_A_LOG, STEPS
from kafka_spec.conformance.metadata.dump_text import batches_of_text
from kafka_spec.conformance.metadata.image import Image
from kafka_spec.conformance.metadata.judge import LogJudge
from kafka_spec.conformance.metadata.kinds import KINDS, VOTER_BUGS
from kafka_spec.conformance.metadata.recognise import kind_of
from kafka_spec.conformance.metadata.report import plain_of
from kafka_spec.conformance.metadata.shapes import change_of
from kafka_spec.conformance.metadata.sources import find_sources
from kafka_spec.conformance.metadata.validation import MetadataOutcome, Validation
from kafka_spec.conformance.outcome.violations import file_and_line
from kafka_spec.impl.kraft.quorum.log import QuorumLog
from kafka_spec.impl.kraft.record_schemas import CONTROL, NEVER, SCHEMAS, Schema, SchemaField, snake
from kafka_spec.impl.log.batches import stamp, unpacked
from kafka_spec.impl.protocol.quorum_requests import SnapshotId
from kafka_spec.spec.kraft.properties.safety import SAFETY
from kafka_spec.spec.language.domain import SpecError
from kafka_spec.spec.quorum.fixed import FIXED as QUORUM
from tests.conftest import Command

LOGS = Path(__file__).parent / "logs" / "kraft"
FINDING = LOGS / "f440-elr-outside-replicas"
SEGMENT = FINDING / "node-100" / "00000000000000000000.log"
CLAIMS = {
    "f412-cancellation-below-min-isr": {(78, "ReassignmentKeepsCandidates"), (78, "ElrBesideSmallIsr"), (78, "ListsNameReplicas")},
    "f412-cancellation-elects-cleanly": {(78, "joins-inactive"), (78, "IsrIsActive")},
    "f440-elr-outside-replicas": {(131, "ElrBesideSmallIsr"), (131, "ListsNameReplicas")},
    "f440-stale-reassignment-lists": {(147, "wrong-order-of-removal"), (195, "ElrBesideSmallIsr"), (195, "ListsNameReplicas")},
    "f440-left-in-directory.tar.gz": set(),
    "s412-one-controller.tar.gz": {
        (328, "ElrBesideSmallIsr"), (328, "ListsNameReplicas"), (588, "ElrBesideSmallIsr"), (588, "ListsNameReplicas"),
    },
    "s431-cleared-elr.tar.gz": {(1535, "too-few-candidates")},
    "s440-static-jbod.tar.gz": {
        (250, "ElrBesideSmallIsr"), (250, "ListsNameReplicas"), (331, "ElrBesideSmallIsr"), (331, "ListsNameReplicas"),
        (635, "ElrBesideSmallIsr"), (635, "ListsNameReplicas"), (339, "too-few-candidates"), (340, "too-few-candidates"),
        (459, "too-few-candidates"), (461, "too-few-candidates"), (510, "snapshot-differs"), (594, "snapshot-differs"),
        (671, "snapshot-differs"), (756, "snapshot-differs"),
    },
}  # fmt: skip
"""The offsets of a log where a claim fails, each of a finding."""


def validated(*paths: Path) -> MetadataOutcome:
    """Return the outcome of some paths."""
    with find_sources(paths) as sources:
        return Validation(sources, LogJudge()).run()


def found(outcome: MetadataOutcome) -> set[tuple[int, str]]:
    """Return the offsets and kinds of the violated claims."""
    return {(file_and_line(one.place)[1], one.kind) for one in outcome.violations if one.kind != "unexplained"}


# ---------------------------------------------------------------------------------------------------------------------
# Real logs


@pytest.mark.parametrize("name", CLAIMS)
def test_the_claims_fail_where_the_findings_act(name: str) -> None:
    """In each log the claims fail at the offsets of its findings, and nowhere else; every kind of violation has its text."""
    outcome = validated(LOGS / name)
    assert found(outcome) == CLAIMS[name]
    assert {one.kind for one in outcome.violations} <= set(KINDS)
    assert outcome.unseen == []


def test_every_snapshot_holds_the_image() -> None:
    """The snapshots of all nodes equal the image at their ends, but for a configuration that outlives its topic on one node."""
    one = validated(LOGS / "s412-one-controller.tar.gz")
    assert len(one.compared) == 30
    jbod = validated(LOGS / "s440-static-jbod.tar.gz")
    assert len(jbod.compared) == 41
    assert {one.subject for one in jbod.violations if one.kind == "snapshot-differs"} == {"configuration t3"}


def test_a_truncated_head_begins_with_a_snapshot(tmp_path: Path) -> None:
    """The log of a node whose head was truncated is judged from its oldest snapshot on, and says what it could not judge."""
    with tarfile.open(LOGS / "s440-static-jbod.tar.gz") as packed:
        packed.extractall(tmp_path, filter="data")
    node = validated(tmp_path / "s440-static-jbod" / "node-102")
    assert node.started_at == 230
    assert node.unseen == ["offsets 127 to 229 are before the oldest snapshot, and could not be judged"]
    assert found(node) == CLAIMS["s440-static-jbod.tar.gz"]


def test_a_log_may_begin_at_a_snapshot_within_a_segment(tmp_path: Path) -> None:
    """The checkpoint of epochs of a log that was cut begins at one of its snapshots, and anywhere else it differs from the log."""
    with tarfile.open(LOGS / "s440-static-jbod.tar.gz") as packed:
        packed.extractall(tmp_path, filter="data")
    folder = tmp_path / "s440-static-jbod"
    file = folder / "node-0" / "leader-epoch-checkpoint"
    version, count, first, *rest = file.read_text().splitlines()
    assert first == "1 0"
    for start, differs in ((104, False), (105, True)):
        file.write_text("\n".join([version, count, f"1 {start}", *rest, ""]))
        assert ("epoch-checkpoint-differs" in {kind for _, kind in found(validated(folder))}) == differs


@pytest.mark.parametrize(("voters", "says"), [((1, 2, 3), ""), ((), "no voters"), ((1, 2), "voters 1, 2")])
def test_a_snapshot_has_the_voters_of_its_log(tmp_path: Path, voters: tuple[int, ...], says: str) -> None:
    """A snapshot without the voters that its log has before its end, or with others, is reported with the bugs that write it."""
    k = QUORUM.constants({**QUORUM.bound_sets[0].values})
    log = QuorumLog(tmp_path, k, (1, 2, 3), lambda: 0)
    log.start_epoch(1, 1, (1, 2), names_voters=True)
    end = log.end
    log.change_voters((1, 2), 1)
    log.flush()
    log.snapshots.write(SnapshotId(end, 1), 0, frozenset(voters))
    log.close()
    outcome = validated(tmp_path)
    assert [one.summary.partition(", the snapshot ")[2].partition(";")[0] for one in outcome.violations] == ([says] if says else [])
    assert all(set(KINDS[one.kind].bugs) == set(VOTER_BUGS) for one in outcome.violations)


def test_an_unfinished_snapshot_is_left_out(tmp_path: Path) -> None:
    """What a process leaves of a snapshot that was killed while it wrote it is no segment of the log."""
    shutil.copytree(FINDING, tmp_path / "finding")
    node = tmp_path / "finding" / "node-100"
    part = next(node.glob("*.checkpoint")).read_bytes()[:-20]
    for suffix in ("part", "deleted"):
        (node / f"00000000000000000099-0000000001-4122071444995634197.checkpoint.{suffix}").write_bytes(part)
    outcome = validated(tmp_path / "finding")
    assert found(outcome) == CLAIMS[FINDING.name] and outcome.unseen == []


def test_every_safety_property_is_asked_or_cannot_be() -> None:
    """Each safety property of the model is asked of the image or of its changes, or there is a reason why a log cannot show it."""
    asked = [one.name for one in (*INVARIANTS, *STEPS)]
    assert sorted([*asked, *NOT_IN_A_LOG]) == sorted(one.name for one in SAFETY)
    counts = validated(LOGS / "s440-static-jbod.tar.gz").judge.claims.count()
    assert set(asked) <= set(counts), "each was tested"


def test_a_change_is_read_by_the_names_of_its_fields() -> None:
    """The short way from a record to what it changes takes the fields that the names of the schema give."""
    values = {field.name: object() for field in SCHEMAS[5].fields}
    change = change_of(SCHEMAS[5].plain(**values))
    names = ("isr", "leader", "replicas", "removing_replicas", "adding_replicas", "leader_recovery_state")
    assert list(change) == [values[name] for name in (*names, "eligible_leader_replicas", "last_known_elr")]


# ---------------------------------------------------------------------------------------------------------------------
# Files


def test_files_are_recognised_by_content(tmp_path: Path) -> None:
    """A segment keeps its kind under any name, compressed too; a topic's log and other files are none of the metadata log."""
    assert kind_of(SEGMENT) == "segment"
    other = tmp_path / "copy.bin"
    shutil.copy(SEGMENT, other)
    assert kind_of(other) == "segment"
    packed = tmp_path / "copy.gz"
    packed.write_bytes(gzip.compress(SEGMENT.read_bytes()))
    assert kind_of(packed) == "segment"
    assert found(validated(packed)) == found(validated(SEGMENT))
    assert kind_of(FINDING / "node-100" / "controller.log.gz") == "controller"
    assert kind_of(FINDING / "session.log") == "other"
    from kafka_spec.impl.log.batches import build

    topic = tmp_path / "orders-0"
    topic.mkdir()
    (topic / "00000000000000000000.log").write_bytes(bytes(build([(0, None, b'{"a": 1}')])))
    assert kind_of(topic / "00000000000000000000.log") == "other"


@pytest.mark.parametrize("codec", [1, 2, 3, 4], ids=["gzip", "snappy", "lz4", "zstd"])
def test_compressed_batches_are_read(codec: int, tmp_path: Path) -> None:
    """A log whose batches are compressed, with any codec that Kafka has, is the log that they hold."""
    segment = tmp_path / SEGMENT.name
    with segment.open("wb") as file:
        for batch in batches_of(SEGMENT.read_bytes()):
            assert isinstance(batch, LogBatch)
            data = bytearray(batch.data)
            if not batch.is_control:
                builder = DefaultRecordBatchBuilder(2, codec, 0, -1, -1, -1, 1 << 20)
                for at, one in enumerate(unpacked(batch.data)):
                    builder.append(at, one.timestamp, one.key, one.value, [])
                data = bytearray(builder.build())
                stamp(data, batch.base, batch.epoch)
            file.write(data)
    assert segment.read_bytes() != SEGMENT.read_bytes()
    assert kind_of(segment) == "segment"
    found, expected = (json.dumps(plain_of(validated(one))) for one in (segment, SEGMENT))
    assert found.replace(str(segment.parent), str(SEGMENT.parent)) == expected


def as_json(type_: str, field: SchemaField, value: object) -> object:
    """Return a value as Kafka's JSON has it."""
    import base64

    if isinstance(value, bytes):
        return base64.urlsafe_b64encode(value).decode().rstrip("=") if type_ == "uuid" else base64.b64encode(value).decode()
    if field.fields and value is not None:
        return fields_as_json(Schema(type_, -1, NEVER, field.fields), value)
    return value


def fields_as_json(schema: Schema, record: object) -> dict[str, object]:
    """Return a record's fields as Kafka's JSON has them."""
    reported = {}
    for field in schema.fields:
        value = getattr(record, field.name)
        reported[field.json_name] = (
            [as_json(field.item, field, one) for one in value]
            if field.is_array and value is not None
            else as_json(field.type, field, value)
        )
    return reported


def dumped(batches: list[LogBatch]) -> str:
    """Return batches as kafka-dump-log prints them."""
    lines = ["Dumping 00000000000000000000.log", "Log starting offset: 0"]
    for one in batches:
        lines.append(
            f"baseOffset: {one.base} lastOffset: {one.last} count: {one.last - one.base + 1} baseSequence: -1 lastSequence: -1 "
            f"producerId: -1 producerEpoch: -1 partitionLeaderEpoch: {one.epoch} isTransactional: false isControl: "
            f"{str(one.is_control).lower()} deleteHorizonMs: OptionalLong.empty position: {one.place} CreateTime: {one.timestamp} "
            f"size: {len(one.data)} magic: 2 compresscodec: none crc: 1 isvalid: true"
        )
        for offset, key, record in one.entries():
            head = f"| offset: {offset} CreateTime: {one.timestamp} keySize: -1 valueSize: 1 sequence: -1 headerKeys: []"
            if one.is_control:
                lines.append(f"{head} LeaderChange: {json.dumps({'version': 0, **fields_as_json(CONTROL[key], record)})}")
            else:
                schema = SCHEMAS[key]
                reported = {
                    "type": snake(schema.name).upper(),
                    "version": record.schema_version,
                    "data": fields_as_json(schema, record),
                }
                lines.append(f"{head} payload: {json.dumps(reported)}")
    return "\n".join(lines) + "\n"


def test_the_text_of_a_dump_says_the_same(tmp_path: Path) -> None:
    """The text of kafka-dump-log leads to the same image and the same violations as the binary log."""
    batches = [one for one in batches_of(SEGMENT.read_bytes()) if isinstance(one, LogBatch)]
    text = tmp_path / "dump.txt"
    text.write_text(dumped(batches))
    reported, binary = validated(text), validated(SEGMENT)
    assert found(reported) == found(binary)
    assert reported.judge.records == binary.judge.records
    assert [list(one.entries())[-1].offset for one in batches_of_text(text.read_text().splitlines())] == [
        one.last for one in batches
    ]
    both = validated(text, SEGMENT)
    assert found(both) == found(binary), "mixed, they are two copies of one log"


def test_a_torn_tail_is_told_and_no_violation(tmp_path: Path) -> None:
    """A log that is cut in the middle of a batch, or that ends with zeros, is judged up to there; not everything was seen."""
    data = SEGMENT.read_bytes()
    for name, cut in (("cut", data[:-5]), ("zeros", data + bytes(100))):
        file = tmp_path / name
        file.write_bytes(cut)
        outcome = validated(file)
        assert found(outcome) == found(validated(SEGMENT))
        assert len(outcome.unseen) == 1


def test_nodes_are_prefixes_of_each_other(tmp_path: Path) -> None:
    """A node that lacks the newest batches agrees; one that has another batch at an offset does not."""
    data = SEGMENT.read_bytes()
    batches = [one for one in batches_of(data) if isinstance(one, LogBatch)]
    for node, content in (("a", data), ("b", data[: batches[-3].place])):
        (tmp_path / node).mkdir()
        (tmp_path / node / "00000000000000000000.log").write_bytes(content)
    assert found(validated(tmp_path)) == found(validated(SEGMENT))
    from kafka_spec.impl.log.batches import build, stamp

    other = build([(0, None, b"\x01\x14\x00\x00")] * (batches[5].last - batches[5].base + 1))
    stamp(other, batches[5].base, batches[5].epoch)
    changed = data[: batches[5].place] + bytes(other) + data[batches[6].place :]
    (tmp_path / "b" / "00000000000000000000.log").write_bytes(changed)
    assert (batches[5].base, "nodes-differ") in found(validated(tmp_path))


@given(some.binary(max_size=200), some.integers(0, 2000))
def test_no_bytes_break_the_reader(data: bytes, place: int) -> None:
    """A log with any bytes written over a part of it is judged up to there, or the batch is refused."""
    original = SEGMENT.read_bytes()
    judge = LogJudge()
    for one in batches_of(original[:place] + data + original[place + len(data) :]):
        if isinstance(one, LogBatch):
            judge.feed(one)
    assert isinstance(judge.image, Image)


def test_a_path_without_a_metadata_log_is_refused(tmp_path: Path) -> None:
    """Of files that hold no metadata log the error names them, and what to give instead."""
    with pytest.raises(SpecError, match="no metadata log is there"):
        find_sources([LOGS.parent / "README.md"])
    with pytest.raises(SpecError, match="No such file"):
        find_sources([tmp_path / "nothing"])


# ---------------------------------------------------------------------------------------------------------------------
# The command


def test_the_command_reports_a_metadata_log(inside: Command) -> None:
    """`validate` recognises a metadata log: a violation ends with exit code 1, and each form names its offset."""
    text = inside("validate", str(FINDING), "-q")
    assert text.returncode == 1
    assert "00000000000000000000.log:131: 22:48:19.887 p-0, controller 100: leader 0, ISR [0, 1]" in text.stdout
    reported = inside("validate", str(FINDING), "-q", "--format", "json")
    assert json.loads(reported.stdout)["verdict"] == "violated"
    junit = inside("validate", str(FINDING), "-q", "--format", "junit")
    assert 'name="ListsNameReplicas"' in junit.stdout
