"""Golden scenarios: a behaviour in words, a configuration or a script that shows it, and what must come out."""
