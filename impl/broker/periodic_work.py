"""The periodic work of a data plane, in both worlds: delayed operations, slow followers, the checkpoint of high watermarks."""

from __future__ import annotations

from typing import Protocol

from kafka_spec.impl.broker.isr_manager import IsrManager, Leading
from kafka_spec.impl.broker.record_requests import RecordRequests
from kafka_spec.impl.log.manager import LogManager


class Storing(Leading, Protocol):
    """The replicas of a broker, with their logs."""

    @property
    def logs(self) -> LogManager:
        """The logs in the broker's data folder."""

    def checkpoint_high_watermarks(self) -> None:
        """Write replication-offset-checkpoint."""


class PeriodicWork(RecordRequests):
    """A data plane that works at `next_tick`, or more often."""

    isr: IsrManager
    """Changes the ISRs of the partitions that the broker leads."""

    def __init__(self, replicas: Storing) -> None:
        super().__init__(replicas)
        self._storing = replicas
        self.shrink_due = self.checkpoint_due = 0
        """The time of the next periodic work."""

    def tick(self, now: int) -> None:
        """Do the periodic work that is due."""
        self.produces.expire(now)
        self.fetches.expire(now)
        settings = self._storing.settings
        if now >= self.shrink_due:
            self.shrink_due = now + settings.replica_lag_time_max_ms // 2
            self.isr.shrink_all(now)
        self._report(now)
        if now >= self.checkpoint_due:
            self.checkpoint_due = now + settings.replica_high_watermark_checkpoint_interval_ms
            self._storing.checkpoint_high_watermarks()
            self._storing.logs.remove_deleted(now, settings.file_delete_delay_ms)

    def next_tick(self, now: int) -> int:
        """Return when `tick` next has work; `now` if it has work already."""
        deadlines = [self.shrink_due, self.checkpoint_due, *self._reports_due()]
        deadlines += [d for d in (self.produces.next_deadline(), self.fetches.next_deadline()) if d is not None]
        return max(now, min(deadlines))

    def _report(self, now: int) -> None:
        """Report to the controller what is due: nothing, unless a subclass has reports."""

    def _reports_due(self) -> tuple[int, ...]:
        """Return when reports are due next."""
        return ()
