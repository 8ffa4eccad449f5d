"""Breaks the checker in many ways, and shows that the tests notice each: `make mutants`.

python -m tests.mutants [NAME...]     all mutants, or some; --write keeps the table in tests/mutants/README.md
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.mutants.run import ROOT, Fate, copied, fate, row, unharmed
from tests.mutants.table import MUTANTS

PAGE = """# Mutants of the checker

Each row is one way to break the checker, and the test that notices it: `make mutants` puts one after the other into a copy of the
repository, runs the tests that `table.py` names, and writes this table. CI does so with a few of them, and sees that each
mutant's text still stands in its file. Seconds are those of a whole run of pytest.

| mutant | what is wrong then | file of model_check | noticed by | seconds |
|---|---|---|---|---|
{rows}

{count} mutants; {alive} of them alive.
"""


def main() -> int:
    """Run mutants; the exit code is 1 if one is alive without a reason."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--write", action="store_true", help="write tests/mutants/README.md")
    options = parser.parse_args()
    if unknown := sorted(set(options.names) - {mutant.name for mutant in MUTANTS}):
        parser.error(f"there is no mutant {unknown[0]}")
    chosen = [mutant for mutant in MUTANTS if not options.names or mutant.name in options.names]
    fates: list[Fate] = []
    with tempfile.TemporaryDirectory() as name:
        copy = copied(Path(name))
        if reason := unharmed(chosen, copy):
            sys.stderr.write(f"the tests do not pass on the code as it is:\n{reason}\n")
            return 2
        for mutant in chosen:
            fates.append(fate(mutant, copy))
            sys.stdout.write(row(fates[-1]) + "\n" + (f"  {fates[-1].trouble}\n" if fates[-1].trouble else ""))
            sys.stdout.flush()
    alive = [one for one in fates if not one.noticed_by and not one.mutant.survives]
    if options.write:
        page = PAGE.format(rows="\n".join(map(row, fates)), count=len(fates), alive=sum(one.alive for one in fates) or "none")
        (ROOT / "tests" / "mutants" / "README.md").write_text(page, encoding="utf-8")
    sys.stdout.write(f"{len(fates)} mutants, {len(alive)} alive without a reason\n")
    return 1 if alive else 0


if __name__ == "__main__":
    sys.exit(main())
