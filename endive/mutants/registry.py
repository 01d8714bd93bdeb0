"""All mutants of the code. Those of the cost tables are made from the tables themselves (`endive.mutants.tables`)."""

from __future__ import annotations

from endive.mutants import (
    api,
    benign,
    catalog,
    costs,
    express,
    lists,
    process,
    runner,
    storage,
    transaction,
    workload,
)
from endive.mutants.model import Mutant

MUTANTS: tuple[Mutant, ...] = (
    *catalog.MUTANTS,
    *transaction.MUTANTS,
    *costs.MUTANTS,
    *lists.MUTANTS,
    *storage.MUTANTS,
    *workload.MUTANTS,
    *runner.MUTANTS,
    *process.MUTANTS,
    *express.MUTANTS,
    *api.MUTANTS,
    *benign.MUTANTS,
)
