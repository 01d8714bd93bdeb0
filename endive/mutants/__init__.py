"""Mutants: named faults that the checks must notice, and harmless changes that they must not."""
