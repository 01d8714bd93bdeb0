"""Faults of catalogs: the pointer, the state behind it, and the log."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import Any

from endive.catalog import AppendCatalog, CatalogLog, PointerCatalog
from endive.catalog.state import CatalogState
from endive.mutants import witnesses as on
from endive.mutants.model import Mutant
from endive.mutants.patch import edited, setting, together

_read = PointerCatalog.read


def _read_one_behind(self: Any, timestamp_ms: float = 0.0) -> Generator[float, None, Any]:
    """What the read before this one saw, with the time of this one."""
    snapshot = yield from _read(self, timestamp_ms)
    cached = getattr(self, "cached", snapshot)
    self.cached = snapshot
    return replace(cached, timestamp_ms=snapshot.timestamp_ms)


_POINTER = (
    Mutant(
        "seq-plus-two",
        "a commit advances seq by 2",
        "Specification §8.1: by exactly 1",
        ("seq-adds-one",),
        on.CROWD,
        edited(CatalogState.apply, ("self.seq += 1", "self.seq += 2")),
    ),
    Mutant(
        "seq-starts-at-one",
        "the catalog starts at seq 1",
        "Specification §8.1",
        ("seq-starts-at-zero",),
        on.CROWD,
        edited(CatalogState.__init__, ("self.seq = 0", "self.seq = 1")),
    ),
    Mutant(
        "success-without-swap",
        "some commits are reported as successes and never applied",
        "Specification §8.8: on success its state was installed",
        ("no-phantom-commit",),
        on.CROWD,
        edited(
            PointerCatalog.try_commit,
            (
                "self.land(writes, intention)",
                "if intention is None or intention.txn_id % 7 != 3: self.land(writes, intention)",
            ),
        ),
    ),
    Mutant(
        "swap-reported-as-failure",
        "some applied commits are reported as failures",
        "trap: an applied commit reported as failed",
        ("no-phantom-commit",),
        on.CROWD,
        edited(
            PointerCatalog.commit,
            (
                "make_commit_result(success,",
                "make_commit_result(success and intention.txn_id % 5 != 2,",
            ),
        ),
    ),
    Mutant(
        "commit-applied-twice",
        "some commits are installed twice",
        "Specification §2.3: one atomic swap",
        ("commits-at-most-once",),
        on.CROWD,
        edited(
            PointerCatalog.land,
            (
                "self.state.apply(writes, intention)",
                "self.state.apply(writes, intention); "
                "intention.txn_id % 5 or self.state.apply(writes, intention)",
            ),
        ),
    ),
    Mutant(
        "lost-update",
        "a swap overlooks the latest commit of a rival",
        "Specification §2.3: succeeds iff seq equals expected_seq",
        ("cas-expectation",),
        on.CROWD,
        edited(
            PointerCatalog.try_commit,
            ("state.seq == expected_seq", "state.seq - expected_seq <= 1"),
        ),
    ),
    Mutant(
        "refused-without-rival",
        "a swap is refused though nobody has committed",
        "Specification §2.3: succeeds iff seq equals expected_seq",
        ("cas-expectation",),
        on.CROWD,
        edited(
            PointerCatalog.try_commit,
            (
                "state.seq == expected_seq",
                "state.seq == expected_seq and intention.txn_id % 9 != 4",
            ),
        ),
    ),
    Mutant(
        "version-decreases",
        "now and then a commit takes a table's version back",
        "Specification §8.1: never decreases",
        ("versions-never-decrease",),
        on.CROWD,
        edited(
            CatalogState.apply,
            ("old.version + 1,", "old.version + (1 if self.seq % 7 else -1),"),
        ),
    ),
    Mutant(
        "partition-versions-stand-still",
        "a commit does not advance the versions of its partitions",
        "Specification §2.2: per-partition version vector",
        ("snapshot-is-a-past-state", "class-matches-history"),
        on.CROWD,
        edited(CatalogState.apply, ("versions[partition_id] += 1", "versions[partition_id] += 0")),
    ),
    Mutant(
        "torn-commit",
        "only the first table of a commit is written",
        "Specification §2.3: all of a commit at one instant",
        ("versions-never-decrease",),
        on.TWO_TABLES,
        edited(
            CatalogState.apply, ("for table_id in writes:", "for table_id in list(writes)[:1]:")
        ),
    ),
    Mutant(
        "mutable-snapshot",
        "snapshots share one list of tables with the catalog",
        "Specification §8.2: immutable; trap: a mutable catalog inside a frozen config",
        ("class-matches-history",),
        on.CROWD,
        together(
            edited(CatalogState.__init__, ("self.tables = tuple(", "self.tables = list(")),
            edited(CatalogState.apply, ("self.tables = tuple(tables)", "self.tables[:] = tables")),
        ),
    ),
    Mutant(
        "stale-read",
        "a read serves what the read before it saw",
        "Specification §8.8: after a failure the current state is read",
        ("snapshot-is-a-past-state",),
        on.CROWD,
        setting(PointerCatalog, "read", _read_one_behind),
    ),
    Mutant(
        "torn-read",
        "a read takes seq at its effect and the tables at its end",
        "Specification §8.2: a consistent point in time",
        ("snapshot-is-a-past-state",),
        on.CROWD,
        edited(
            PointerCatalog.read,
            (
                "return snapshot",
                "return type(snapshot)(snapshot.seq, state.tables, snapshot.timestamp_ms, state.details)",
            ),
        ),
    ),
    Mutant(
        "read-before-it-arrives",
        "a read captures the state when it is called, not at its effect",
        "Simulator Internals: state at server processing time",
        ("snapshot-is-a-past-state",),
        on.CROWD,
        edited(
            PointerCatalog.read,
            (
                "yield to_effect_ms\n",
                "held = self.state.seq, self.state.tables\n    yield to_effect_ms\n",
            ),
            ("state.seq, state.tables,", "*held,"),
        ),
    ),
    Mutant(
        "table-granularity-overlooks",
        "a swap per table overlooks the latest commit to it",
        "Simulator Internals, Table-Level Mode",
        ("cas-expectation",),
        on.PER_TABLE,
        edited(
            CatalogState.is_unchanged_since,
            ("changed_at[table_id] <= seq ", "changed_at[table_id] <= seq + 1 "),
        ),
    ),
    Mutant(
        "partition-granularity-by-table",
        "a swap per partition is refused for any commit to the table",
        "Simulator Internals, Partition Mode",
        ("cas-expectation",),
        on.PER_PARTITION,
        edited(CatalogState.is_unchanged_since, ("tables = ()\n", "tables = writes\n")),
    ),
    Mutant(
        "group-granularity-by-table",
        "a swap per group looks at its own tables only",
        "Critical Context: table groups",
        ("cas-expectation",),
        on.GROUPS,
        edited(
            CatalogState.is_unchanged_since, ('granularity == "group"', 'granularity == "none"')
        ),
    ),
    Mutant(
        "read-set-ignored",
        "a serializable commit does not look at what it only read",
        "Append Simulation Design: read-set for serializable isolation",
        ("cas-expectation",),
        on.SERIALIZABLE,
        edited(CatalogState.is_unchanged_since, ("(*tables, *read)", "tables")),
    ),
    Mutant(
        "background-not-counted",
        "a background commit changes its tables and leaves seq as it was",
        "Specification §8.1; background load",
        ("seq-adds-one",),
        on.BACKGROUND,
        edited(CatalogState.apply, ("self.seq += 1", "self.seq += intention.txn_id >= 0")),
    ),
    Mutant(
        "merge-leaves-manifests",
        "a commit that merges manifests does not leave one",
        "Iceberg Java: merging writes 1 manifest",
        ("costs-as-priced",),
        on.MERGING,
        edited(
            CatalogState.apply,
            ("1 if table_id in merged else old.manifests + 1", "old.manifests + 1"),
        ),
    ),
)

_DISCOVERY = """\
    size_bytes, drawn_ms = self.size_bytes, self.draw_read_ms()
    to_effect_ms = drawn_ms * effect_point
    yield to_effect_ms
    if to_effect_ms < drawn_ms:
        yield drawn_ms - to_effect_ms
    self._tell_use(record, "catalog", "read", size_bytes, drawn_ms)
    return make_commit_result(is_applied, elapsed_ms + drawn_ms)"""

_LOG = (
    Mutant(
        "append-success-by-version",
        "a writer takes a version that equals its own for its own success",
        "trap: success of an append judged by version; Specification §8.9",
        ("append-outcome-by-own-record",),
        on.LOG,
        edited(
            AppendCatalog._commit_directly,
            (
                "return make_commit_result(is_applied, elapsed_ms + drawn_ms)",
                "is_applied = all(self.state.tables[t].version == v for t, v in writes.items())\n"
                "    return make_commit_result(is_applied, elapsed_ms + drawn_ms)",
            ),
        ),
    ),
    Mutant(
        "discovery-skipped",
        "an append commit returns without its discovery read",
        "Specification §8.9: a discovery read",
        ("append-needs-discovery",),
        on.LOG,
        edited(
            AppendCatalog._commit_directly,
            (_DISCOVERY, "    return make_commit_result(is_applied, elapsed_ms)"),
        ),
    ),
    Mutant(
        "rejected-record-applied",
        "a record that is rejected changes the catalog all the same",
        "Append Simulation Design: in the log, not applied",
        ("append-outcome-by-own-record",),
        on.LOG,
        edited(
            AppendCatalog._judge,
            ("if is_current:", "if lands := is_current or record.txn_id % 3 == 0:"),
            (
                "log.extend(record.size_bytes, applied=is_current)",
                "log.extend(record.size_bytes, applied=lands)",
            ),
        ),
    ),
    Mutant(
        "append-conflicts-across-tables",
        "a record is rejected for a commit to another table",
        "Append Simulation Design: different tables both succeed",
        ("append-outcome-by-own-record",),
        on.LOG,
        edited(
            AppendCatalog._judge,
            (
                "log.counters.append_physical_success += 1",
                "is_current = is_current and self.state.seq == record.expected_seq; log.counters.append_physical_success += 1",
            ),
        ),
    ),
    Mutant(
        "append-read-set-ignored",
        "a serializable record is applied whatever became of what it read",
        "Append Simulation Design: read-set for serializable isolation",
        ("append-outcome-by-own-record",),
        on.LOG_SERIALIZABLE,
        edited(AppendCatalog._judge, ("(record.tables_read or {}).items()", "()")),
    ),
    Mutant(
        "append-anywhere",
        "a record lands wherever the log ends, whatever offset its writer gave",
        "Specification §1.1: iff its length is the expected offset",
        ("log-grows-by-records",),
        on.LOG,
        edited(
            AppendCatalog._commit_directly,
            ("if offset == log.length_bytes and not log.sealed:", "if not log.sealed:"),
        ),
    ),
    Mutant(
        "seal-ignored",
        "a sealed log takes records",
        "Append Simulation Design: sealed until compacted",
        ("log-grows-by-records",),
        on.LOG_LATEST,
        edited(
            AppendCatalog._commit_directly,
            ("offset == log.length_bytes and not log.sealed", "offset == log.length_bytes"),
        ),
    ),
    Mutant(
        "compaction-won-twice",
        "every writer that found the log sealed compacts it",
        "Append Simulation Design: compaction is a swap",
        ("log-grows-by-records",),
        on.LOG_SEALING,
        edited(CatalogLog.compact, ("self.compactions != seen_compactions", "False")),
    ),
    Mutant(
        "rejected-record-not-logged",
        "a rejected record takes no room in the log",
        "Append Simulation Design: in the log, not applied",
        ("log-grows-by-records",),
        on.LOG,
        edited(
            AppendCatalog._judge,
            (
                "log.extend(record.size_bytes, applied=is_current)",
                "is_current and log.extend(record.size_bytes, applied=is_current)",
            ),
        ),
    ),
)

MUTANTS = (*_POINTER, *_LOG)
