"""Property tests: `pytest invariants/`, one file per clause of §8, and the catalogs driven directly."""
