"""functier beside other libraries.

Each library gets the same inputs in its own array type and runs each workload in its own
idiom; "by hand" is the same computation written in NumPy, backward pass and all. Results are
compared first, then timed in interleaved rounds: times are medians, ratios are medians of the
ratios within a round. A library that cannot be imported is left out. With ``--threads 1`` the
clock is CPU time, which other processes hardly disturb; else wall time, which needs a quiet
machine: the last column of the table is what others used of it.

Writes OUT.md (tables), OUT.json (every round), OUT.png (how costs scale) and, with a library that
compiles, OUT-compiled.png.
"""

import argparse
import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
LIBRARIES = (
    "functier,functier_np,functier_c,torch,torch_ag,torch_compile,jax,jax_jit,autograd,mygrad"
)


def parse(words: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only",
        default="",
        help="rows whose names contain one of these parts, comma separated; memory, imports, "
        "first calls, threads and scaling are names too",
    )
    parser.add_argument("--libs", default=LIBRARIES, help=f"comma separated, of {LIBRARIES}")
    parser.add_argument(
        "--threads", type=int, help="threads of every library; default: as many as there are cores"
    )
    parser.add_argument("--rounds", type=int, default=9, help="default: 9")
    parser.add_argument(
        "--out", default=str(HERE / "output" / "bench"), help="where to write, without a suffix"
    )
    args = parser.parse_args(words)
    if unknown := set(args.libs.split(",")) - set(LIBRARIES.split(",")):
        parser.error(f"--libs {', '.join(sorted(unknown))}: there are {LIBRARIES}")
    return args


def set_threads(threads: int) -> None:
    """Before anything numeric is imported: that is when these are read."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(threads)
    if hasattr(os, "sched_setaffinity"):  # the only setting that XLA's threads obey
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-threads:])


def main() -> None:
    args = parse()
    if args.threads:
        set_threads(args.threads)
    os.environ["JAX_PLATFORMS"] = "cpu"
    os.environ["FUNCTIER_CACHE"] = "0"  # first calls are those of a program that is new
    sys.path[0] = str(HERE.parent)  # where the package ``bench`` is
    from bench.session import run

    run(args)


if __name__ == "__main__":
    main()
