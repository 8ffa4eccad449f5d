"""Elections of the quorum: pre-votes, votes, and the first batch of a leader.

Source: Kafka 4.3 KafkaRaftClient.java, QuorumState.java; KIP-996.
"""

from __future__ import annotations

from kafka_spec.impl.kraft.quorum.election_state import ElectionState
from kafka_spec.impl.kraft.quorum.member import QuorumMember
from kafka_spec.impl.protocol.errors import ErrorCode
from kafka_spec.impl.protocol.quorum_requests import EndQuorumEpochRequest, QuorumAnswer, QuorumLeader, VoteRequest, VoteResponse
from kafka_spec.spec.decisions.quorum import is_majority, is_up_to_date, vote_is_granted
from kafka_spec.spec.decisions.variants import Checked
from kafka_spec.spec.language.domain import NONE
from kafka_spec.spec.quorum.machines import CANDIDATE, FOLLOWER, LEADER, PROSPECTIVE, RESIGNED, UNATTACHED


class Elections(QuorumMember):
    """A node that stands for election, and votes."""

    def time_out(self) -> None:
        """Do what the end of a role's timer makes a node do; observers and leaders have no such timer."""
        if self.role == PROSPECTIVE:
            self.give_up()
        elif self.k.pre_votes and self.role != RESIGNED:
            self.ask_for_pre_votes()
        elif not self.leave_epoch():
            self.stand()

    def end_epoch(self, request: EndQuorumEpochRequest) -> QuorumAnswer:
        """Hear that a leader has resigned: a voter that follows it need not wait for its timer (handleEndQuorumEpochRequest)."""
        if request.epoch < self.epoch:
            return QuorumAnswer(ErrorCode.FENCED_LEADER_EPOCH, self.standing)
        self.learn(QuorumLeader(request.leader, request.epoch))
        if self.role == FOLLOWER and self.leader == request.leader:
            self.time_out()
        return QuorumAnswer(ErrorCode.NONE, self.standing)

    def _may_campaign(self) -> bool:
        """Whether it is a voter in its own view, or may be one still, and neither leads nor, with pre-votes, has resigned."""
        if self.role == LEADER or (self.role == RESIGNED and self.k.pre_votes):
            return False
        if self.node in self.log.voters:
            return True
        is_open = self.log.last_change >= self.high_watermark
        return self.k.removed_voter_campaigns == Checked.YES and is_open and self.node in self.log.voters_before

    def ask_for_pre_votes(self) -> bool:
        """Ask for pre-votes in the same epoch, and grant the own (KIP-996)."""
        if not self.k.pre_votes or not self._may_campaign() or self.role == PROSPECTIVE:
            return False
        self._forget_role()
        self.granted = {self.node}
        self._fire("ask_for_pre_votes")
        return True

    def give_up(self) -> bool:
        """Ask for pre-votes no longer."""
        if self.role != PROSPECTIVE:
            return False
        self._follow_or_detach()
        return True

    def stand(self) -> bool:
        """Stand for election in the next epoch, if a majority would vote for it; at once where there are no pre-votes.

        Also at once if it has resigned and is the only voter: its process has just started.
        """
        if not self.k.pre_votes:
            may = self._may_campaign()
        elif self.role == RESIGNED:
            may = self.log.voters == {self.node}
        else:
            may = self.role == PROSPECTIVE and self.has_majority()
        if not may:
            return False
        self._forget_role()
        self._save(ElectionState(self.epoch + 1, NONE, self.node))
        self.granted = {self.node}
        self._fire("stand")
        return True

    def has_majority(self) -> bool:
        """Whether a majority of its voters would vote for it, or did."""
        voters = self.log.voters
        return is_majority(len(voters & self.granted), len(voters))

    def vote_request(self) -> VoteRequest | None:
        """Return what it asks the other voters, None if it does not."""
        if self.role not in (PROSPECTIVE, CANDIDATE):
            return None
        return VoteRequest(self.epoch, None, self.node, self.log.end, self.log.last_epoch, pre_vote=self.role == PROSPECTIVE)

    def vote(self, request: VoteRequest) -> VoteResponse:
        """Vote, say whether it would, or refuse; the epoch of the request may be news (handleVoteRequest)."""
        if request.epoch < self.epoch:
            return VoteResponse(ErrorCode.FENCED_LEADER_EPOCH, self.standing)
        is_newer = is_up_to_date(request.last_epoch, request.end, self.log.last_epoch, self.log.end)
        if request.pre_vote:
            fetches = self.role == FOLLOWER and self.has_fetched
            granted = is_newer and not (request.epoch == self.epoch and (self.role == LEADER or fetches))
            self._catch_up(request.epoch)
            return VoteResponse(ErrorCode.NONE, self.standing, granted)
        self._catch_up(request.epoch)
        is_free = self.role in (UNATTACHED, PROSPECTIVE)
        granted = is_free and vote_is_granted(request.candidate, self.voted, self.leader, is_newer)
        if granted:
            self._save(ElectionState(self.epoch, self.leader, request.candidate))
            if self.role == PROSPECTIVE:
                self.granted = {self.node}
        return VoteResponse(ErrorCode.NONE, self.standing, granted)

    def take_vote(self, voter: int, request: VoteRequest, answer: VoteResponse) -> None:
        """Take an answer: a grant counts while it still asks the same, and hears of no leader (handleVoteResponse)."""
        if self.learn(answer.leader) or request.epoch != self.epoch:
            return
        asks = PROSPECTIVE if request.pre_vote else CANDIDATE
        if answer.granted and self.role == asks and voter in self.log.voters:
            self.granted.add(voter)
