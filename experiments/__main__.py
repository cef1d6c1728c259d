"""`python -m experiments`: all parts into results/; with `--quick` a small version of them."""

from __future__ import annotations

import argparse
import sys
from importlib import import_module

from experiments import paper, runner
from experiments.frame import FULL, QUICK

PARTS = (
    "table2",
    "reasons",
    "dearer",
    "convergence",
    "sweep",
    "variation",
    "peers",
    "beyond",
    "honest",
    "several",
    "lasting",
    "ellice",
)


def main(given=None):
    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer people, seeds and trials")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, metavar="PART",
                        help=f"some of {', '.join(PARTS)}; all if not given")  # fmt: skip
    parser.add_argument("--out", help="folder to write to (results, or build/quick with --quick)")
    parser.add_argument("--jobs", type=int, default=2, help="processes (2)")
    parser.add_argument("--conclude", action="store_true",
                        help="run nothing: tables anew from the rows there")  # fmt: skip
    asked = parser.parse_args(given)
    scale = QUICK if asked.quick else FULL
    out = asked.out or ("build/quick" if asked.quick else "results")
    print(paper.table1().markdown())
    parts = [import_module(f"experiments.{name}") for name in asked.parts]
    if asked.conclude:
        runner.conclude_again(parts, out)
        print(f"written to {out}/")
        return
    failed = runner.run(parts, scale, out, asked.jobs)
    if failed:
        sys.exit(f"{failed} units failed; see {out}/units/*.jsonl. The next run tries them again")
    print(f"written to {out}/")


if __name__ == "__main__":
    main()
