"""What changed between two measurements of one library: each number that moved, old and new, and under which versions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from endive.oracle.measurement import COUNTERS, Cell, Measurement


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that is not as it was: a counter of an attempt, an outcome, a number of attempts, a cell."""

    cell: str
    what: str
    old: str
    new: str
    old_version: str
    new_version: str

    def __str__(self) -> str:
        versions = f"{self.old_version} → {self.new_version}"
        if self.old_version == self.new_version:
            versions = f"both {self.old_version}"
        return f"{self.cell}: {self.what}: {self.old} → {self.new} ({versions})"


def differences(old: Measurement, new: Measurement) -> tuple[Difference, ...]:
    """Everything that differs, cell by cell in the order of the old measurement; added cells come last."""

    def make(cell: Cell, what: str, before: object, after: object) -> Difference:
        versions = (f"{each.library} {each.version}" for each in (old, new))
        return Difference(cell.label, what, str(before), str(after), *versions)

    def between(before: Cell, after: Cell) -> Iterator[Difference]:
        if before.outcome != after.outcome:
            yield make(before, "outcome", before.outcome, after.outcome)
        if len(before.attempts) != len(after.attempts):
            yield make(before, "attempts", len(before.attempts), len(after.attempts))
        for number, (left, right) in enumerate(zip(before.attempts, after.attempts, strict=False)):
            for name in COUNTERS:
                was, now = getattr(left, name), getattr(right, name)
                if was != now:
                    yield make(before, f"attempt {number}, {name}", was, now)

    found: list[Difference] = []
    remeasured = {cell.key: cell for cell in new.cells}
    for cell in old.cells:
        again = remeasured.pop(cell.key, None)
        if again is None:
            found.append(make(cell, "cell", "measured", "not measured"))
        else:
            found.extend(between(cell, again))
    found.extend(make(cell, "cell", "not measured", "measured") for cell in remeasured.values())
    return tuple(found)
