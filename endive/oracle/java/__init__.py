"""Iceberg Java driven from Python, inside the JVM that PySpark starts: nothing is compiled and nothing is imitated.

The library runs as it is. Its two openings to the world, `FileIO` and `TableOperations`, are Python objects: one counts what is
opened and created, the other holds the table's pointer and lets rivals in before a swap.
"""
