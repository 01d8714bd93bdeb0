"""Where evidence comes from, one kind per file."""
