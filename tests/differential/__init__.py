"""The shipped engine held against the naive one, run by run and column by column."""
