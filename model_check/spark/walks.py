"""Random walks on a Spark cluster: each task walks some batches, and returns their counts.

The walks are those of one process with the same seed: a batch has the same walks wherever it runs, and batches are added in order.
The workers get the text of the code, as in a search (engine.py); nothing is kept on storage.
"""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

from kafka_spec.model_check.budget import Budget, Stopped
from kafka_spec.model_check.random_walks.simulation import Progress, Simulation
from kafka_spec.model_check.spark.cluster import SparkCluster
from kafka_spec.model_check.spark.failures import JobFailed
from kafka_spec.model_check.spark.walk_task import of_plain
from kafka_spec.spec.vocabulary.table import SpecError

FIRST_JOB = 4
"""Batches of a task in the first job; each job has twice as many as the one before, up to the last."""
LAST_JOB = 256


class OnSpark:
    """Runs batches of random walks as Spark jobs; `given` is a session that exists."""

    def __init__(self, master: str, given: Any = None) -> None:
        self.master, self.given = master, given

    def __call__(self, simulation: Simulation, budget: Budget, progress: Progress) -> None:
        """Run the batches, and add them in order.

        Raises:
            SpecError: Java, the master or a worker is unfit, or the jobs fail.
        """
        cluster = SparkCluster(self.master, self.given)
        try:
            cluster.wait(budget.exhausted)
            self.jobs(cluster, simulation, budget, progress)
        except Stopped:
            pass
        except JobFailed as error:
            raise SpecError(f"--engine spark: {error}") from None
        finally:
            cluster.close()

    def jobs(self, cluster: SparkCluster, simulation: Simulation, budget: Budget, progress: Progress) -> None:
        """Run job after job."""
        ranges, size = simulation.walks.ranges(), FIRST_JOB
        plain = {
            "text": simulation.program.text,
            "shape": dataclasses.asdict(simulation.program.shape),
            "names": {**dataclasses.asdict(simulation.names), "goals": sorted(simulation.names.goals)},
            "walks": dataclasses.asdict(simulation.walks),
            "initial": [record.hex() for record in simulation.initial],
            "kinds": simulation.kinds,
        }
        while not simulation.over and not budget.exhausted():
            parts = list(itertools.islice(ranges, size * cluster.cores))
            if not parts:
                return
            tasks = [parts[n :: cluster.cores] for n in range(cluster.cores)]
            arguments = ({**plain, "tasks": tasks, "bits": simulation.sample.bits},)
            reports = cluster.collect("walk", arguments, cluster.anywhere(cluster.cores), budget.exhausted)
            batches = [of_plain(batch) for report in reports for batch in report["batches"]]
            for batch in sorted(batches, key=lambda batch: batch.begin):
                if simulation.over:
                    break
                simulation.add(batch)
            progress(simulation.result)
            size = min(LAST_JOB, 2 * size)
