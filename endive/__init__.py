"""Endive: a discrete-event simulator of Iceberg's optimistic commits, and the toolkit that proves it right."""

__version__ = "0.1.0"
