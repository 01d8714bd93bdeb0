"""Transactions (§3): the commit protocol, the operations, what they cost and how they retry."""

from endive.cost_model import ConflictCost
from endive.transaction.attempts import Attempt
from endive.transaction.base import ConflictDetector, Transaction
from endive.transaction.clock import Clock
from endive.transaction.operations import (
    OPERATION_CLASSES,
    DeletePartitionTransaction,
    FastAppendTransaction,
    MergeAppendTransaction,
    OverwriteUnvalidatedTransaction,
    PricedTransaction,
    ReplacePartitionsTransaction,
    ReplacePartitionsValidatedTransaction,
    RewriteFilesTransaction,
    RowDeltaTransaction,
    ValidatedOverwriteTransaction,
)
from endive.transaction.result import (
    MAX_RETRIES_REASON,
    TIMEOUT_REASON,
    VALIDATION_REASON,
    TransactionResult,
    TransactionStatus,
)
from endive.transaction.retry import PLAIN, Backoff, CommitOptions

__all__ = [
    "MAX_RETRIES_REASON",
    "OPERATION_CLASSES",
    "PLAIN",
    "TIMEOUT_REASON",
    "VALIDATION_REASON",
    "Attempt",
    "Backoff",
    "Clock",
    "CommitOptions",
    "ConflictCost",
    "ConflictDetector",
    "DeletePartitionTransaction",
    "FastAppendTransaction",
    "MergeAppendTransaction",
    "OverwriteUnvalidatedTransaction",
    "PricedTransaction",
    "ReplacePartitionsTransaction",
    "ReplacePartitionsValidatedTransaction",
    "RewriteFilesTransaction",
    "RowDeltaTransaction",
    "Transaction",
    "TransactionResult",
    "TransactionStatus",
    "ValidatedOverwriteTransaction",
]
