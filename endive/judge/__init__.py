"""The independent judge: holds traces against declared invariants, and knows nothing of the simulator."""
