"""Kills a search of replication/kip_320 at random points with kill -9, continues it, and compares the end with a whole search.

    python -m benchmarks.kills DIR [--kills 20] [--epochs 2] [--records 3] [--seed N] [--threads 2]

Each start is killed after a random time, at most twice its share of the whole search, so that the kills spread over all of it. A
level that was reported is never searched again: what a kill costs is at most the level that was under way. Where a search ends
before all kills were made, another begins. The exit code is 1 if a level is repeated, or if states, levels, firings or the digest
of the graph differ from those of the search that nobody killed.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
COMPARED = ("verdict", "distinct", "depth", "generated", "digest")


class Run:
    """One start of the search; reads what it reports while it runs."""

    def __init__(self, folder: Path, options: argparse.Namespace, resume: bool) -> None:
        command = [sys.executable, "-m", "benchmarks.billion", str(folder), "--epochs", str(options.epochs)]
        command += ["--records", str(options.records), "--threads", str(options.threads), *(["--resume"] if resume else [])]
        self.began = time.perf_counter()
        self.process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.levels: list[int] = []
        self.said = ""
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self) -> None:
        """Collect the levels that the search reports."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            if match := re.match(r"level +(\d+)", line):
                self.levels.append(int(match[1]))
            else:
                self.said += line

    def killed_after(self, seconds: float) -> bool:
        """Kill the search after so many seconds; return whether it was still running."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
            self.reader.join()
            return True
        return False

    def figures(self) -> dict[str, Any]:
        """Wait for the end, and return what the search found."""
        assert self.process.stdout is not None
        text = self.process.stdout.read()
        self.process.wait()
        self.reader.join()
        if self.process.returncode != 0:
            sys.exit(f"the search failed:\n{self.said}")
        found: dict[str, Any] = json.JSONDecoder().raw_decode(text)[0]
        return found


def main() -> int:
    """Search once whole and once with kills; return 1 unless both find the same."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", metavar="DIR", type=Path)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--epochs", type=int, default=2, help="max_leader_epoch: 2 is 4 million states, 3 is 65 million")
    parser.add_argument("--records", type=int, default=3, help="max_records: with 3 epochs, 6 is a billion states")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0, help="of the times of the kills")
    options = parser.parse_args()
    chance, whole_folder, folder = random.Random(options.seed), options.folder / "whole", options.folder / "killed"
    for old in (whole_folder, folder):
        shutil.rmtree(old, ignore_errors=True)
    options.folder.mkdir(parents=True, exist_ok=True)
    whole_run = Run(whole_folder, options, resume=False)
    whole = whole_run.figures()
    seconds = time.perf_counter() - whole_run.began
    start = max(0.0, seconds - whole["seconds"])
    print(f"whole: {whole['distinct']:,} states, digest {whole['digest']}, {seconds:.1f} s, of which {start:.1f} s to start")
    killed, finished, wrong = 0, 0, False
    while killed < options.kills or not finished:
        shutil.rmtree(folder, ignore_errors=True)
        last, running = 0, True
        while running:
            run = Run(folder, options, resume=last > 0)
            share = 2 * whole["seconds"] / options.kills
            running = killed < options.kills and run.killed_after(start + chance.uniform(0, share))
            end = {} if running else run.figures()
            repeated = bool(run.levels) and run.levels[0] <= last
            wrong |= repeated
            last = max([last, *run.levels])
            if running:
                killed += 1
                seconds = time.perf_counter() - run.began
                print(f"killed after {seconds:5.1f} s, at level {last}{', which was REPEATED' if repeated else ''}", flush=True)
        finished += 1
        differ = [name for name in COMPARED if whole[name] != end[name]]
        wrong |= bool(differ)
        print(
            f"{killed} kills: {end['distinct']:,} states, digest {end['digest']}: {f'DIFFERS in {differ}' if differ else 'equal'}"
        )
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
