"""Named bounds: how far to explore, and why just there. Never mixed with rules.

A check is only as good as its bounds: two replicas hide the flaw of kip_279 completely, and kip_320_first_try shows its own only
from three replicas and epochs up to 2 on. So bounds are several, and each says what it is for. The first set of a
spec is what a check takes when nothing is asked for.
"""

from spec.table import BoundSet


def _replication(name: str, replicas: int, log_size: int, max_records: int, max_leader_epoch: int, why: str) -> BoundSet:
    values = {
        "replicas": replicas,
        "log_size": log_size,
        "max_records": max_records,
        "max_leader_epoch": max_leader_epoch,
    }
    return BoundSet(name, values, why)


REPLICATION = (
    _replication("small", 2, 2, 2, 2, "rejects high_watermark and kip_101 within ten thousand states"),
    _replication("tiny", 2, 1, 1, 1, "rejects high_watermark within a few hundred states; for a first look"),
    _replication("three_replicas", 3, 1, 1, 1, "the smallest that rejects kip_279: its flaw needs a third replica"),
    _replication("three_epochs", 3, 1, 1, 2, "the smallest that rejects kip_320_first_try, in the hundred thousands"),
    _replication("medium", 3, 2, 2, 2, "logs that can diverge in the middle; seven hundred thousand states"),
    _replication("large", 3, 3, 3, 2, "four million states: what a proof of kip_320 should rest on in CI"),
    _replication("huge", 3, 3, 3, 3, "some 65 million states: a quarter of an hour on a desk"),
)
"""The bounds of spec/replication."""

_NOTHING = dict.fromkeys(
    ("crashes", "lossy_crashes", "bounces", "expiries", "repeats", "late_fetches", "lost_replies", "isr_shrinks")
    + ("controlled_shutdowns", "preferred_elections", "failed_failovers", "records", "unclean", "settled"),
    0,
)


def _control(name: str, why: str, brokers: int = 2, replicas: int = 2, channel_depth: int = 6, **happens: int) -> BoundSet:
    """Return bounds of the control plane: what is not mentioned does not happen."""
    return BoundSet(name, {"brokers": brokers, "replicas": replicas, "channel_depth": channel_depth, **_NOTHING, **happens}, why)


CONTROL = (_control("first_look", "nothing fails: election of a controller, creation of the topic, the first leader"),)
"""The bounds of spec/control: one scenario family each."""
