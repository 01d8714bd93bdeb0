"""The rules: one file for each clause of §8, and some for what holds beyond it."""
