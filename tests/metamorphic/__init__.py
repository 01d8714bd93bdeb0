"""Runs that are related to each other: what must change when something about a run is changed, and what must not."""
