"""The planted faults of all rules, frozen: up to three rows of samples that find each.

Each derivative rule is made wrong by a thousandth, each batching rule in each element, and
``rules.jsonl`` has a line for each: the rule, and which chosen rows find it by which checks. What
was found stays found. ``python tests/faults/rules.py`` adds the rules that are new, and leaves out
those that have gone.
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import samples
from support import planted
from support.basics import load_all

RECORDS = Path(__file__).with_name("rules.jsonl")


def read() -> dict[str, list[list[str]]]:
    """Return the rows and checks that find the fault of each rule, by the name of the rule."""
    return dict(json.loads(line) for line in RECORDS.read_text().splitlines())


def kinds() -> list[tuple]:
    """Return the rules of each kind, what tells which rows run them, and what plants one."""
    return [
        (planted.every_rule(), planted.rows_of_rules, planted.wrong_derivative),
        (planted.batched(), planted.rows_of_batching_rules, planted.wrong_batch),
    ]


def lost(name: str, pairs: list[list[str]]) -> list[list[str]]:
    """Plant the fault of a rule; return which of the rows no longer find it."""
    rows = {row: samples.of(row.partition(".")[0])[row] for row, _ in pairs}
    for rules, _, wrong in kinds():
        if name in rules:
            found = dict(wrong(rules[name], rows, len(rows))[1])
            return [pair for pair in pairs if pair[0] not in found]
    return pairs


def write() -> None:
    load_all()
    known = read() if RECORDS.exists() else {}
    kept, names = {}, set()
    for rules, running, wrong in kinds():
        names |= set(rules)
        new = {name: rule for name, rule in rules.items() if name not in known}
        rows = running(new, samples.chosen()) if new else {}
        for name, rule in new.items():
            kept[name] = [list(pair) for pair in wrong(rule, rows.get(name, {}), 3)[1]]
            print(name, *kept[name])
    kept |= {name: pairs for name, pairs in known.items() if name in names}
    RECORDS.write_text("".join(f"{json.dumps(item)}\n" for item in sorted(kept.items())))


if __name__ == "__main__":
    write()
