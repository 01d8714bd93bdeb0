"""Catalogs to hold the direct properties against: `pytest invariants/ --target invariants.targets.<name>`."""
