"""The shortest paths of spec/quorum to what a case shows, which Kafka's own clients take to their ends.

Each is written as rules with their parameters, without pre-votes (3.9) and with them (from 4.0 on).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RecordedPath:
    """A path, and what Kafka does after it that ends a process, if anything."""

    case: str
    without_pre_votes: str
    with_pre_votes: str
    last: str = ""
    """A rule, with its parameters, that the model does not allow there, since Kafka's process ends by it."""
    ends_with: str = ""
    """What the exception says."""
    kraft_version: int = 1
    """1 if the voters are records of the log, 0 if they are configured."""

    def steps(self, pre_votes: int) -> str:
        """Return the path for releases with pre-votes, or without."""
        return self.with_pre_votes if pre_votes else self.without_pre_votes


PATHS = (
    RecordedPath(
        "voters-skipped-after-truncation",
        "Stand(0); Vote(0, 1); Stand(1); Vote(1, 2); Win(0); Win(1); Append(0); LearnEpoch(0, 1); Fetch(0); Fetch(0); "
        "Fetch(0); RemoveVoter(1, 2); Fetch(0); Fetch(0); Stand(0); Vote(0, 2); Win(0); LearnEpoch(2, 0); Fetch(2); Fetch(2); "
        "Fetch(2); Fetch(2); RemoveVoter(1, 0)",
        "AskForPreVotes(0); GrantPreVote(0, 1); Stand(0); Vote(0, 1); AskForPreVotes(1); GrantPreVote(1, 2); Stand(1); "
        "Vote(1, 2); Win(0); Win(1); Append(0); LearnEpoch(0, 1); Fetch(0); Fetch(0); Fetch(0); RemoveVoter(1, 2); Fetch(0); "
        "Fetch(0); AskForPreVotes(0); GrantPreVote(0, 2); Stand(0); Vote(0, 2); Win(0); LearnEpoch(2, 0); Fetch(2); Fetch(2); "
        "Fetch(2); Fetch(2); RemoveVoter(1, 0)",
    ),
    RecordedPath(
        "voters-dropped-by-snapshot",
        "Stand(0); Vote(0, 1); Win(0); LearnEpoch(2, 0); Fetch(2); Fetch(2); Stand(2); Vote(2, 1); Win(2); RemoveVoter(0, 1); "
        "LearnEpoch(0, 2); WriteSnapshot(0, 1); Fetch(0)",
        "AskForPreVotes(0); GrantPreVote(0, 1); Stand(0); Vote(0, 1); Win(0); LearnEpoch(2, 0); Fetch(2); Fetch(2); "
        "AskForPreVotes(2); GrantPreVote(2, 1); Stand(2); Vote(2, 1); Win(2); RemoveVoter(0, 1); LearnEpoch(0, 2); "
        "WriteSnapshot(0, 1); Fetch(0)",
    ),
    RecordedPath(
        "voters-of-lost-log-stay",
        "Stand(0); Vote(0, 1); Stand(1); Vote(1, 2); Win(0); Win(1); LearnEpoch(2, 1); Append(0); LearnEpoch(0, 1); Fetch(2); "
        "Fetch(2); RemoveVoter(1, 0); Fetch(2); Fetch(2); RemoveVoter(1, 2); WriteSnapshot(1, 2); CutLog(1); LoadSnapshot(0); "
        "Stand(0); Vote(0, 2); Win(0)",
        "AskForPreVotes(0); GrantPreVote(0, 1); Stand(0); Vote(0, 1); AskForPreVotes(1); GrantPreVote(1, 2); Stand(1); "
        "Vote(1, 2); Win(0); Win(1); LearnEpoch(2, 1); Append(0); LearnEpoch(0, 1); Fetch(2); Fetch(2); AskForPreVotes(2); "
        "RemoveVoter(1, 2); WriteSnapshot(1, 1); CutLog(1); LoadSnapshot(0); Fetch(0); Fetch(0); AskForPreVotes(0); "
        "GrantPreVote(0, 2); Stand(0); Vote(0, 2); Win(0); RemoveVoter(1, 0)",
    ),
    RecordedPath(
        "snapshot-does-not-replace-log",
        "Stand(0); Vote(0, 1); Stand(1); Vote(1, 2); Win(0); LearnEpoch(0, 1); Stand(0); Vote(0, 2); Win(1); Win(0); "
        "LearnEpoch(2, 0); LearnEpoch(1, 0); Fetch(2); Fetch(2); Fetch(2); WriteSnapshot(0, 1); CutLog(0)",
        "AskForPreVotes(0); GrantPreVote(0, 1); Stand(0); Vote(0, 1); AskForPreVotes(1); GrantPreVote(1, 2); Stand(1); "
        "Vote(1, 2); Win(0); LearnEpoch(0, 1); AskForPreVotes(0); GrantPreVote(0, 2); Stand(0); Vote(0, 2); Win(1); Win(0); "
        "LearnEpoch(2, 0); LearnEpoch(1, 0); Fetch(2); Fetch(2); Fetch(2); WriteSnapshot(0, 1); CutLog(0)",
        last="LoadSnapshot(1)",
        ends_with="Full log truncation expected but didn't happen",
    ),
    RecordedPath(
        "voter-formatted-again",
        "Stand(0); Vote(0, 1); Stand(1); Vote(1, 2); Win(0); Win(1); FormatAgain(2); LearnEpoch(2, 0); Fetch(2); Fetch(2)",
        "AskForPreVotes(0); GrantPreVote(0, 1); Stand(0); Vote(0, 1); AskForPreVotes(1); GrantPreVote(1, 2); Stand(1); "
        "Vote(1, 2); Win(0); Win(1); FormatAgain(2); LearnEpoch(2, 0); Fetch(2); Fetch(2)",
        kraft_version=0,
    ),
    RecordedPath(
        "voter-formatted-at-no-lag",
        "Stand(0); Vote(0, 1); Win(0); LearnEpoch(2, 0); LearnEpoch(1, 0); Fetch(2); Stand(2); Fetch(1); Fetch(1); Vote(2, 1); "
        "Win(2); LearnEpoch(1, 2); FormatAgain(2)",
        "AskForPreVotes(0); GrantPreVote(0, 1); Stand(0); Vote(0, 1); Win(0); LearnEpoch(2, 0); LearnEpoch(1, 0); Fetch(2); "
        "AskForPreVotes(2); GrantPreVote(2, 1); Stand(2); Fetch(1); Fetch(1); Vote(2, 1); Win(2); LearnEpoch(1, 2); FormatAgain(2)",
        last="LearnEpoch(2, 1)",
        ends_with="Received request or response with leader OptionalInt[2] and epoch 2 which is inconsistent with current leader "
        "OptionalInt",
        kraft_version=0,
    ),
)
"""The paths: to two histories, to a node without voters, to a leader without committed batches, to the end of a process."""
