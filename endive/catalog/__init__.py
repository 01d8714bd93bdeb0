"""Catalogs (§2): the one place where transactions contend, seen only through `read()` and `commit()`."""

from endive.catalog.append import AppendCatalog
from endive.catalog.lists import ListAppend, ManifestLists
from endive.catalog.log import CatalogLog
from endive.catalog.pointer import CASCatalog, InstantCatalog, PointerCatalog
from endive.catalog.types import (
    Catalog,
    CatalogSnapshot,
    CommitResult,
    IntentionRecord,
    TableMetadata,
)

__all__ = [
    "AppendCatalog",
    "CASCatalog",
    "Catalog",
    "CatalogLog",
    "CatalogSnapshot",
    "CommitResult",
    "InstantCatalog",
    "IntentionRecord",
    "ListAppend",
    "ManifestLists",
    "PointerCatalog",
    "TableMetadata",
]
