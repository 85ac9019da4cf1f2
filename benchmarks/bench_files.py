"""Load a hundred thousand hostile model files, and count what comes of them.

    python benchmarks/bench_files.py [N] [--seed 0] [--processes 2] [--keep DIR]

Each file is made from a sound one: bits flipped, cut off, lengths changed, JSON
swapped, types and arrays exchanged, numbers overwritten, other formats inside; in most
cases the checksum is right again. It must be refused with a ValueError, or be a model
that answers. Files are loaded in processes of their own, so that a crash is noticed;
an audit hook notices commands, processes, connections, pickles and files that are
removed. ``--keep`` writes the files that did anything else.

The script also measures the time of loading and answering, and for every eighth file
the memory that loading takes. That must not be more than twice the file and 32 bytes
for each byte of its header, since Python's objects are larger than their text.
"""

from __future__ import annotations

import argparse
import os
import struct
import sys
import time
import tracemalloc
import warnings
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from mutations import Mutator, outcome  # noqa: E402
from saved_models import MODELS  # noqa: E402

from pursuit.files import dumps, loads  # noqa: E402

# Files that one task of a process loads.
BATCH = 500
# Bytes for each byte of the header, and for what is always there.
OF_HEADER, ALWAYS = 32, 1 << 18
# A file may need a loop that is compiled then.
LONGEST_SECONDS = 10.0


def sound_files() -> tuple[list[bytes], list[Any]]:
    """Return sound files of all kinds, and rows at which their models answer."""
    made = [make() for make in MODELS.values()]
    return [dumps(model) for model, _ in made], [X[:8] for _, X in made]


def peak_of(content: bytes) -> int:
    """Return the bytes that loading a file takes at most."""
    tracemalloc.start()
    try:
        loads(content)
    except ValueError:
        pass
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return peak


def allowed(content: bytes) -> int:
    """Return the bytes that loading a file may take."""
    length = struct.unpack("<I", content[12:16])[0] if len(content) >= 16 else 0
    return 2 * len(content) + OF_HEADER * min(length, len(content)) + ALWAYS


_state: dict[str, Any] = {}
# What Python tells auditors, that no file may bring about.
DEEDS = (
    "os.exec",
    "os.fork",
    "os.kill",
    "os.posix_spawn",
    "os.remove",
    "os.rmdir",
    "os.spawn",
    "os.startfile",
    "os.system",
    "pickle.find_class",
    "shutil.rmtree",
    "socket.connect",
    "subprocess.Popen",
)


class DeedError(Exception):
    """A file has brought about what it must not."""


def notice(event: str, args: Any) -> None:
    """Remember deeds while a file is loaded and asked."""
    if event in DEEDS and _state.get("is_armed") and not is_of_numba():
        _state["deeds"].append(event)


def is_of_numba() -> bool:
    """Return whether Numba is at work: compiled loops are pickles in its cache."""
    frame: Any = sys._getframe(1)
    while frame is not None and not frame.f_globals["__name__"].startswith("numba."):
        frame = frame.f_back
    return frame is not None


def watched_outcome(content: bytes, X: Any) -> str:
    """Return what comes of a file; raise if anything was done meanwhile."""
    _state["deeds"], _state["is_armed"] = [], True
    try:
        found = outcome(content, X)
    finally:
        _state["is_armed"] = False
        if _state["deeds"]:
            raise DeedError(_state["deeds"][0])
    return found


def start() -> None:
    """Prepare a process: models, and compiled loops."""
    warnings.simplefilter("ignore")
    sys.stderr = open(os.devnull, "w")  # noqa: SIM115  progress bars
    _state["files"], _state["rows"] = sound_files()
    sys.addaudithook(notice)
    for content, X in zip(_state["files"], _state["rows"], strict=True):
        assert outcome(content, X) == "answers"


def batch(seed: int, n: int, keep: str | None) -> tuple[Counter[Any], float, float]:
    """Load ``n`` files; return counts, the most memory, the longest time."""
    mutator = Mutator(_state["files"], seed)
    counts: Counter[Any] = Counter()
    share = longest = 0.0
    for i in range(n):
        kind, number, content = mutator.one()
        began = time.process_time()
        try:
            found = watched_outcome(content, _state["rows"][number])
        except Exception as error:
            found = f"WRONG: {type(error).__name__}"
        seconds = time.process_time() - began
        used = peak_of(content) / allowed(content) if i % 8 == 0 else 0.0
        found = "WRONG: slow" if seconds > LONGEST_SECONDS else found
        found = "WRONG: memory" if used > 1.0 else found
        share, longest = max(share, used), max(longest, seconds)
        counts[kind, found] += 1
        if keep is not None and found.startswith("WRONG"):
            Path(keep, f"{seed}-{i}.pursuit").write_bytes(content)
    return counts, share, longest


def show(counts: Counter[Any]) -> None:
    """Print a table: kinds of mutations, and what came of them."""
    outcomes = sorted({found for _, found in counts})
    kinds = sorted({kind for kind, _ in counts})
    print(f"{'':22s}" + "".join(f"{found:>16s}" for found in outcomes))
    for kind in kinds:
        row = "".join(f"{counts[kind, found]:16d}" for found in outcomes)
        print(f"{kind:22s}{row}")
    totals = [sum(counts[kind, found] for kind in kinds) for found in outcomes]
    print(f"{'all':22s}" + "".join(f"{total:16d}" for total in totals))


def main() -> int:
    """Run the script; return how many files did what they must not."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("n", nargs="?", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--keep", default=None)
    given = parser.parse_args()
    counts: Counter[Any] = Counter()
    share = longest = 0.0
    sizes = [min(BATCH, given.n - i) for i in range(0, given.n, BATCH)]
    began = time.perf_counter()
    with ProcessPoolExecutor(given.processes, initializer=start) as pool:
        tasks = [
            pool.submit(batch, 1_000_000 * given.seed + i, size, given.keep)
            for i, size in enumerate(sizes)
        ]
        for task in tasks:
            try:
                some, used, seconds = task.result()
            except BrokenProcessPool:
                print("A process crashed.")
                return 1
            counts += some
            share, longest = max(share, used), max(longest, seconds)
    show(counts)
    print(
        f"{given.n} files in {time.perf_counter() - began:.0f} s; the longest took "
        f"{longest:.2f} s, the largest {share:.0%} of the memory allowed"
    )
    return sum(n for (_, found), n in counts.items() if found.startswith("WRONG"))


if __name__ == "__main__":
    n_faults = main()
    if n_faults:
        sys.exit(1)
