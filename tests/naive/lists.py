"""Manifest lists that are appended to at an offset, and sealed when they grow too long (MODEL.md 12)."""

from collections.abc import Generator
from dataclasses import dataclass

from .config_load import TransactionSettings
from .store import Store


@dataclass
class ManifestList:
    """The list of one table."""

    length_bytes: int = 0
    sealed: bool = False
    rewrites: int = 0


@dataclass
class AppendAnswer:
    """What an append tells its writer about the list as of its effect."""

    landed: bool
    length_bytes: int
    sealed: bool
    rewrites: int


class ManifestLists:
    """The lists of all tables."""

    def __init__(
        self,
        table_count: int,
        settings: TransactionSettings,
        store: Store,
        counters: dict[str, int],
    ) -> None:
        self.lists = [ManifestList() for _ in range(table_count)]
        self.entry_bytes = settings.manifest_list_entry_size_bytes
        self.seal_threshold_bytes = settings.manifest_list_seal_threshold_bytes
        self.store = store
        self.counters = counters

    def lengths_bytes(self) -> list[int]:
        """How long each list is at this moment."""
        return [one.length_bytes for one in self.lists]

    def append(self, table_id: int, expected_bytes: int) -> Generator[float, None, AppendAnswer]:
        """One append of one entry at the length that its writer expects."""
        latency_ms = self.store.latency_ms("manifest_list", "append", self.entry_bytes)
        to_effect_ms = self.store.settings.effect_point * latency_ms
        yield to_effect_ms
        one = self.lists[table_id]
        if not one.sealed and one.length_bytes == expected_bytes:
            self.counters["manifest_append_physical_success"] += 1
            one.length_bytes += self.entry_bytes
            if 0 < self.seal_threshold_bytes < one.length_bytes:
                one.sealed = True
            answer = AppendAnswer(True, one.length_bytes, one.sealed, one.rewrites)
            yield latency_ms - to_effect_ms
        else:
            self.counters["manifest_append_physical_failure"] += 1
            answer = AppendAnswer(False, one.length_bytes, one.sealed, one.rewrites)
            yield self.store.rest_of_failure_ms(
                "manifest_list", "append_failure", latency_ms, to_effect_ms, self.entry_bytes
            )
        return answer

    def finish_rewrite(self, table_id: int, rewrites_when_told: int) -> bool:
        """Put a rewritten list in place; False if somebody else did so meanwhile."""
        one = self.lists[table_id]
        if one.rewrites != rewrites_when_told:
            return False
        self.counters["manifest_append_sealed_rewrite"] += 1
        one.length_bytes = self.entry_bytes
        one.sealed = False
        one.rewrites += 1
        return True
