"""Why a transaction took as long as it did, or came to nothing: who beat it, attempt by attempt, and what that cost."""

from endive.why.finding import Loss, Rival, Telling, explain, most_costly

__all__ = ["Loss", "Rival", "Telling", "explain", "most_costly"]
