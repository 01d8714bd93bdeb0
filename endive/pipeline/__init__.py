"""From a tree of experiments to tables (docs/PIPELINE.md): consolidation, then pure DataFrame → DataFrame transforms.

`consolidate` puts every run of a tree into one verified dataset; `build_tables` aggregates it. Nothing is collected before it
is aggregated, so the size of the data does not matter to the driver. Importing this starts no Spark.
"""

from endive.pipeline.columns import config_column, config_key
from endive.pipeline.schemas import SCHEMAS, TableSchema

__all__ = [
    "SCHEMAS",
    "TableSchema",
    "config_column",
    "config_key",
]
