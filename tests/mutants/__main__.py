"""Breaks the checker in many ways, and shows that the tests notice each: `make mutants`.

python -m tests.mutants [NAME...]     all mutants, or some
python -m tests.mutants --part 2/5    the second fifth of them
--write puts the rows into tests/mutants/README.md; those of the other mutants stay.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from pathlib import Path

from tests.mutants.run import ROOT, Fate, copied, fate, row, unharmed
from tests.mutants.table import MUTANTS

PAGE = """# Mutants of the checker

Each row is one way to break the checker, and the first test that notices it. `make mutants` puts one mutant after the other into
a copy of the repository, runs the tests that `table.py` names for it, and writes this table. CI does so with a few of them, and
checks that the text of each mutant stands in its file once.

| mutant | what is wrong then | file of model_check | noticed by |
|---|---|---|---|
{rows}

{count} mutants; {alive} of them alive.
"""


def main() -> int:
    """Run mutants; the exit code is 1 if one is alive without a reason."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--part", default="1/1", metavar="I/N", help="only the I-th of N parts")
    parser.add_argument("--trust", action="store_true", help="do not run the tests without mutants first")
    parser.add_argument("--write", action="store_true", help="write tests/mutants/README.md")
    options = parser.parse_args()
    if unknown := sorted(set(options.names) - {mutant.name for mutant in MUTANTS}):
        parser.error(f"there is no mutant {unknown[0]}")
    if not (part := re.fullmatch(r"([1-9]\d*)/([1-9]\d*)", options.part)):
        parser.error(f"--part {options.part}: name one as 2/5")
    chosen = [mutant for mutant in MUTANTS if not options.names or mutant.name in options.names]
    chosen = chosen[int(part[1]) - 1 :: int(part[2])]
    fates: list[Fate] = []
    with tempfile.TemporaryDirectory() as name:
        copy = copied(Path(name))
        if not options.trust and (reason := unharmed(chosen, copy)):
            sys.stderr.write(f"the tests do not pass on the code as it is:\n{reason}\n")
            return 2
        for mutant in chosen:
            fates.append(fate(mutant, copy))
            sys.stdout.write(f"{row(fates[-1])} {fates[-1].seconds:.0f} s\n{fates[-1].trouble}")
            sys.stdout.flush()
            if options.write:
                write(fates[-1])
    alive = [one for one in fates if not one.noticed_by and not one.mutant.survives]
    sys.stdout.write(f"{len(fates)} mutants, {len(alive)} alive without a reason\n")
    return 1 if alive else 0


def write(one: Fate) -> None:
    """Put the row of a mutant into the table."""
    path = ROOT / "tests" / "mutants" / "README.md"
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    rows = {line.split(" | ")[0]: line for line in before.splitlines() if line.startswith("| ")}
    rows[row(one).split(" | ")[0]] = row(one)
    reported = [rows.get(f"| {mutant.name}", f"| {mutant.name} | {mutant.breaks} | | **not tried** |") for mutant in MUTANTS]
    alive = sum(line.endswith("** |") for line in reported)
    path.write_text(PAGE.format(rows="\n".join(reported), count=len(reported), alive=alive or "none"), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
