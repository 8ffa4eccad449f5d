"""Settings that operators change while the cluster runs: min.insync.replicas, and what it does to the ELR; unclean elections."""

from __future__ import annotations

from kafka_spec.spec.case import Case, Shown
from kafka_spec.spec.decisions.kraft_variants import AppliedSettings
from kafka_spec.spec.decisions.variants import Checked
from kafka_spec.spec.kraft.cases.releases import LAST
from kafka_spec.spec.vocabulary.table import Decision

SETTINGS_APPLIED = Decision(
    "settings_applied", AppliedSettings.WITH_REPLICA, "when a log gets the settings of a delta that changes its partition"
)
CASES: tuple[Case, ...] = (
    Case(
        "elr-cleared-while-offline",
        "a change of min.insync.replicas empties the ELR of a partition that has no ISR: no replica may lead any more",
        releases=("4.0", LAST),
        decides={
            Decision(
                "elr_kept_without_isr",
                Checked.YES,
                "a change of min.insync.replicas keeps an ELR without an ISR (no version up to 4.4)",
            ): Checked.NO
        },
        shows=(Shown("lower_while_offline", {"SettingsKeepCandidates": 6}),),
        seen="conformance/reproductions/elr_cleared_while_offline.py",
    ),
    Case(
        "raised-min-isr-learned-late",
        "a leader that does not know yet of a larger min.insync.replicas commits without those that the controller makes eligible",
        releases=("4.0", LAST),
        decides={
            Decision(
                "proposals_name_min_isr",
                Checked.YES,
                "a proposal names its leader's min.insync.replicas, and is refused if that is another (no version up to 4.4)",
            ): Checked.NO
        },
        shows=(Shown("raise_min_isr", {"LeaderCountsCandidates": 6, "CandidatesHoldCommitted": 6, "Committed": 9}),),
        seen="conformance/reproductions/raised_min_isr_learned_late.py",
    ),
    Case(
        "settings-after-replicas",
        "a broker that applies a fence and a larger min.insync.replicas at once commits in between without an eligible replica",
        releases=("4.0", LAST),
        decides={SETTINGS_APPLIED: AppliedSettings.AFTER_REPLICA},
        shows=(Shown("raise_and_fence", {"LeaderCountsCandidates": 4, "CandidatesHoldCommitted": 5, "Committed": 8}),),
    ),
    Case(
        "high-watermark-waits-after-lowering",
        "a smaller min.insync.replicas does not move the high watermark: records that may be committed wait for the next write",
        releases=("3.7", LAST),  # before, the high watermark did not wait for min.insync.replicas
        decides={
            SETTINGS_APPLIED: AppliedSettings.AFTER_REPLICA,
            Decision(
                "high_watermark_after_settings",
                Checked.YES,
                "a leader moves its high watermark when min.insync.replicas becomes smaller (no version up to 4.4)",
            ): Checked.NO,
        },
        shows=(Shown("lower_min_isr", {"Recovers": 5, "RecordsAreCommitted": 7}),),
        seen="conformance/reproductions/high_watermark_waits_after_lowering.py",
    ),
    Case(
        "KAFKA-12670",
        "the controller does not read unclean.leader.election.enable: a topic that allows unclean elections waits for an operator",
        releases=("3.0", "3.8"),
        decides={
            Decision(
                "unclean_setting_honoured",
                Checked.YES,
                "the controller elects uncleanly where the topic allows it (3.9, KAFKA-12670)",
            ): Checked.NO
        },
        shows=(Shown("allow_unclean", {"Recovers": 4, "LeaderIsElected": 7}),),
    ),
)
