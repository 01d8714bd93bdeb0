"""Laws: closed forms that a correct simulator must meet, held against runs of it (docs/LAWS.md)."""
