"""Fuzz one target: `python -m tests.fuzz.worker TARGET SECONDS SEED FOLDER`.

Progress goes to stderr, the summary to stdout as one line of JSON.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.fuzz.run import Fuzzer
from tests.fuzz.targets import load_target


def main() -> None:
    name, seconds, seed, folder = sys.argv[1:]
    with load_target(name) as target:
        fuzzer = Fuzzer(target, int(seed), Path(folder))
        summary = fuzzer.run(float(seconds), lambda line: print(line, file=sys.stderr, flush=True))
    print(summary.to_json(), flush=True)


if __name__ == "__main__":
    main()
