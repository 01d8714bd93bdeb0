"""The verbs of the command line, one file each: `add_parser` declares it, `execute` does it."""
