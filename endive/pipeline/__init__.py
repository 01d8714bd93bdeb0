"""From a tree of experiments to tables (docs/PIPELINE.md): consolidation, then pure DataFrame → DataFrame transforms.

`consolidate` puts every run of a tree into one verified dataset; `build_tables` aggregates it. Nothing is collected before it
is aggregated, so the size of the data does not matter to the driver. Importing this starts no Spark.
"""

from endive.pipeline.columns import config_column, config_key
from endive.pipeline.consolidation import Consolidation, Frames, consolidate, open_frames
from endive.pipeline.schemas import SCHEMAS, TableSchema
from endive.pipeline.tables import Tables, build_tables, load_tables

__all__ = [
    "SCHEMAS",
    "Consolidation",
    "Frames",
    "TableSchema",
    "Tables",
    "build_tables",
    "config_column",
    "config_key",
    "consolidate",
    "load_tables",
    "open_frames",
]
