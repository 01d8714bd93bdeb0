"""Each kind of mistake is told once, with its file, line, key, value and fix."""

from __future__ import annotations

from pathlib import Path

import pytest

from endive.config import load_config
from endive.errors import InputError

BASE = """\
[simulation]
duration_ms = 1000
[storage]
provider = "s3x"
"""
FIRST_LINE = BASE.count("\n") + 1


# What is added to a valid file; the offset of the wrong line; its key; words of the message.
CASES = [
    # unknown keys
    ("[transaction]\nretri = 3", 1, "transaction.retri", "unknown key; did you mean 'retry'?"),
    ("[transaktion]", 0, "transaktion", "unknown key; did you mean 'transaction'?"),
    ("[catalog]\nprovider = 's3'", 1, "catalog.provider", "did you mean 'storage.provider'?"),
    ("[catalog]\nzzz = 1", 1, "catalog.zzz", "[catalog] has num_tables, type"),
    ("[transaction.runtime]\nMEAN = 1", 1, "transaction.runtime.MEAN", "did you mean 'mean'?"),
    (
        "[storage.latency.catalog.write]\ndistribution = 'fixed'\nvalue = 1",
        0,
        "storage.latency.catalog.write",
        "unknown key; [storage.latency.catalog] has read, cas",
    ),
    # types
    (
        "[catalog]\nnum_tables = '3'",
        1,
        "catalog.num_tables",
        "'3' is not a whole number; remove the",
    ),
    ("[catalog]\nnum_tables = 1.5", 1, "catalog.num_tables", "1.5 is not a whole number"),
    ("[catalog]\nnum_tables = true", 1, "catalog.num_tables", "true is not a whole number"),
    ("[transaction]\nretry = [1]", 1, "transaction.retry", "an array is not a whole number"),
    (
        "[transaction]\nretry_backoff.jitter = false",
        1,
        "transaction.retry_backoff.jitter",
        "a number",
    ),
    (
        "[transaction]\nretry_backoff.enabled = 1",
        1,
        "transaction.retry_backoff.enabled",
        "true or false",
    ),
    ("[transaction]\nruntime = 5", 1, "transaction.runtime", "5 is not a table"),
    ("catalog = 1", 0, "storage.catalog", "unknown key"),
    ("[experiment]\nlabel = 2026-01-01", 1, "experiment.label", "2026-01-01 is not a string"),
    ("[catalog.partitions]\nper_table = 3", 1, "catalog.partitions.per_table", "not an array"),
    # numbers that are none
    (
        "[transaction]\nretry_backoff.base_ms = nan",
        1,
        "transaction.retry_backoff.base_ms",
        "nan is not a finite",
    ),
    (
        "[transaction]\ninter_arrival.scale = inf",
        1,
        "transaction.inter_arrival.scale",
        "inf is not a finite",
    ),
    ("[transaction]\nretry = -inf", 1, "transaction.retry", "-inf is not a finite"),
    ("[transaction]\ninter_arrival.scale = 1e999", 1, "transaction.inter_arrival.scale", "finite"),
    ("[catalog]\nlog_entry_size = 0x" + "f" * 6000, 1, "catalog.log_entry_size", "too large"),
    # bounds
    ("[transaction]\nretry = -1", 1, "transaction.retry", "must be at least 0, not -1"),
    ("max_parallel = 0", 0, "storage.max_parallel", "must be at least 1, not 0"),
    ("effect_point = 1.5", 0, "storage.effect_point", "must be at most 1, not 1.5"),
    ("min_latency_ms = 0", 0, "storage.min_latency_ms", "must be above 0, not 0"),
    ("sizes.manifest_file = 0", 0, "storage.sizes.manifest_file", "at least 1"),
    (
        "[transaction]\nreal_conflict_probability = 2",
        1,
        "transaction.real_conflict_probability",
        "at most 1",
    ),
    (
        "[transaction]\nretry_backoff.multiplier = 0.5",
        1,
        "transaction.retry_backoff.multiplier",
        "at least 1",
    ),
    (
        "[transaction]\ntable_selector.write_fraction = 0",
        1,
        "transaction.table_selector.write_fraction",
        "above 0",
    ),
    (
        "[transaction]\noperation_types.fast_append = -1",
        1,
        "transaction.operation_types.fast_append",
        "at least 0",
    ),
    (
        "[catalog.partitions]\nnum_partitions = 0",
        1,
        "catalog.partitions.num_partitions",
        "at least 1",
    ),
    (
        "[catalog.partitions]\nper_table = [0]",
        1,
        "catalog.partitions.per_table[0]",
        "at least 1, not 0",
    ),
    (
        "[catalog.partitions]\nper_table = []",
        1,
        "catalog.partitions.per_table",
        "must not be empty",
    ),
    # choices
    ("[catalog]\ntype = 'appendd'", 1, "catalog.type", "did you mean 'append'?"),
    ("[catalog]\nmode = 'instant'", 1, "catalog.mode", "'instant' is not one of cas, append"),
    (
        "[transaction]\nmanifest_list_mode = 'x'",
        1,
        "transaction.manifest_list_mode",
        "rewrite, append",
    ),
    (
        "[transaction]\nruntime.distribution = 'size_based'",
        1,
        "transaction.runtime.distribution",
        "not one of",
    ),
    # labels
    ("[experiment]\nlabel = ''", 1, "experiment.label", "must not be empty"),
    ("[experiment]\nlabel = 'a/b'", 1, "experiment.label", "no '/' or '\\'"),
    ("[experiment]\nlabel = 'a\\b'", 1, "experiment.label", "no '/' or '\\'"),
    ("[experiment]\nlabel = '.'", 1, "experiment.label", "no leading dot"),
    ("[experiment]\nlabel = '..'", 1, "experiment.label", "no leading dot"),
    ("[experiment]\nlabel = '.hidden'", 1, "experiment.label", "no leading dot"),
    ("[experiment]\nlabel = '  '", 1, "experiment.label", "not blank"),
    ('[experiment]\nlabel = "a\\u0007"', 1, "experiment.label", "no control characters"),
    ('[experiment]\nlabel = "a\\n"', 1, "experiment.label", "no control characters"),
    (
        f"[experiment]\nlabel = '{'a' * 101}'",
        1,
        "experiment.label",
        "at most 100 characters, not 101",
    ),
    (f"[experiment]\nlabel = '{'€' * 100}'", 1, "experiment.label", "at most 200 bytes"),
    # partitions
    (
        "[catalog.partitions]",
        0,
        "catalog.partitions",
        "exactly one of num_partitions, per_table; none",
    ),
    (
        "[catalog.partitions]\nnum_partitions = 1\nper_table = [1]",
        0,
        "catalog.partitions",
        "exactly one of num_partitions, per_table; num_partitions and per_table are both given",
    ),
    (
        "[catalog]\nnum_tables = 3\npartitions.per_table = [1, 2]",
        2,
        "catalog.partitions.per_table",
        "has 2 entries, and catalog.num_tables is 3; give one for each table",
    ),
    (
        "[transaction]\npartitions_per_txn = 1",
        1,
        "transaction.partitions_per_txn",
        "without [catalog.partitions]",
    ),
    (
        "[transaction]\npartition_selector.type = 'zipf'",
        1,
        "transaction.partition_selector",
        "nothing reads it without [catalog.partitions]",
    ),
    (
        "[transaction]\ntables_per_txn = 2",
        1,
        "transaction.tables_per_txn",
        "catalog.num_tables, which is 1, not 2",
    ),
    (
        "[transaction]\npartitions_per_txn = 3\n"
        "[catalog]\nnum_tables = 2\npartitions.per_table = [5, 2]",
        1,
        "transaction.partitions_per_txn",
        "the smallest table, which has 2, not 3",
    ),
    (
        "[transaction]\ntable_selector.alpha = 1",
        1,
        "transaction.table_selector.alpha",
        "type is 'uniform'",
    ),
    (
        "[transaction]\ntables_per_txn = 2\ntable_selector = { type = 'zipf', alpha = 50 }\n"
        "[catalog]\nnum_tables = 2",
        2,
        "transaction.table_selector.alpha",
        "a choice of 2 distinct tables out of 2 practically never ends",
    ),
    # distributions
    ("[transaction]\nruntime.value = 5", 1, "transaction.runtime.value", "nothing reads it while"),
    (
        "[transaction]\nruntime = { mean = 1, median = 1 }",
        1,
        "transaction.runtime.median",
        "both given",
    ),
    ("[transaction]\nruntime.mean = 0", 1, "transaction.runtime.mean", "above 0 for 'lognormal'"),
    ("[transaction]\nruntime.sigma = -1", 1, "transaction.runtime.sigma", "at least 0"),
    (
        "[transaction]\nruntime.distribution = 'fixed'",
        1,
        "transaction.runtime.value",
        "missing; 'fixed' needs it",
    ),
    (
        "[transaction]\nruntime = { distribution = 'normal', std_dev = 1 }",
        1,
        "transaction.runtime.mean",
        "missing; 'normal' needs it",
    ),
    (
        "[transaction]\nruntime = { distribution = 'uniform', low = 5, high = 2 }",
        1,
        "transaction.runtime.low",
        "must be at most high, which is 2, not 5",
    ),
    (
        "[transaction]\ninter_arrival = { distribution = 'lognormal', sigma = 1 }",
        1,
        "transaction.inter_arrival",
        "'lognormal' needs mean or median",
    ),
    (
        "[transaction]\ninter_arrival = { distribution = 'lognormal', mean = 1 }",
        1,
        "transaction.inter_arrival.sigma",
        "missing; 'lognormal' needs it",
    ),
    ("[transaction]\ninter_arrival.scale = 0", 1, "transaction.inter_arrival.scale", "above 0"),
    (
        "[transaction]\ninter_arrival = { distribution = 'fixed', value = 0 }",
        1,
        "transaction.inter_arrival.value",
        "time would stand still",
    ),
    (
        "[transaction]\ninter_arrival = { distribution = 'uniform', low = 0, high = 0 }",
        1,
        "transaction.inter_arrival.high",
        "time would stand still",
    ),
    (
        "[transaction]\ninter_arrival = { distribution = 'normal', mean = 0, std_dev = 0 }",
        1,
        "transaction.inter_arrival.mean",
        "time would stand still",
    ),
    (
        "latency.manifest_file.read.value = 3",
        0,
        "storage.latency.manifest_file.read.distribution",
        "missing; add it",
    ),
    # what the catalog does not read
    ("[catalog]\nlog_entry_size = 5", 1, "catalog.log_entry_size", "while catalog.type is 'cas'"),
    (
        "[catalog]\nappend_max_physical_retries = 5",
        1,
        "catalog.append_max_physical_retries",
        "set catalog.type to 'append'",
    ),
    (
        "latency.catalog.append = { distribution = 'fixed', value = 1 }",
        0,
        "storage.latency.catalog.append",
        "type is 'cas'",
    ),
    (
        "latency.catalog.append_failure = { distribution = 'fixed', value = 1 }",
        0,
        "storage.latency.catalog.append_failure",
        "catalog.type is 'cas'",
    ),
    (
        "latency.catalog.cas = { distribution = 'fixed', value = 1 }\n[catalog]\ntype = 'append'",
        0,
        "storage.latency.catalog.cas",
        "catalog.type is 'append'",
    ),
    (
        "latency.catalog.cas = { distribution = 'fixed', value = 1 }\n[catalog]\nmode = 'append'",
        0,
        "storage.latency.catalog.cas",
        "catalog.type is 'append'",
    ),
    (
        "latency.catalog.read = { distribution = 'fixed', value = 1 }\n[catalog]\ntype = 'instant'",
        0,
        "storage.latency.catalog.read",
        "while catalog.type is 'instant'",
    ),
    (
        "latency.manifest_list.append = { distribution = 'fixed', value = 1 }",
        0,
        "storage.latency.manifest_list.append",
        "set transaction.manifest_list_mode to 'append'",
    ),
    (
        "[catalog]\ntype = 'cas'\nmode = 'append'",
        2,
        "catalog.mode",
        "contradicts catalog.type, which is 'cas'",
    ),
    # the rest
    (
        "[transaction]\nconflict_detector = 'partition_overlap'\nreal_conflict_probability = 0.5",
        2,
        "transaction.real_conflict_probability",
        "transaction.conflict_detector is 'partition_overlap'",
    ),
    ("[transaction.operation_types]", 0, "transaction.operation_types", "add up to 0"),
    (
        "[transaction.operation_types]\nfast_append = 0",
        0,
        "transaction.operation_types",
        "add up to 0",
    ),
    (
        "[transaction.operation_types]\nfast_append = 1e308\nmerge_append = 1e308",
        0,
        "transaction.operation_types",
        "add up to infinity",
    ),
    (
        "[transaction.retry_backoff]\nmax_ms = 5",
        1,
        "transaction.retry_backoff.max_ms",
        "at least base_ms, which is 10, not 5",
    ),
    (
        "[transaction.retry_backoff]\nbase_ms = 6000",
        1,
        "transaction.retry_backoff.base_ms",
        "at most max_ms, which is 5000",
    ),
]


@pytest.mark.parametrize(("added", "offset", "key", "words"), CASES)
def test_one_mistake_is_told_once_with_its_line_key_and_fix(
    tmp_path: Path, added: str, offset: int, key: str, words: str
) -> None:
    file = tmp_path / "bad.toml"
    file.write_text(f"{BASE}{added}\n", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_config(file)
    (problem,) = caught.value.problems
    assert problem.file == str(file)
    assert (problem.line, problem.key) == (FIRST_LINE + offset, key)
    assert words in problem.message
