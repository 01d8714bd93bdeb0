"""What the real Iceberg libraries do, counted: measurements as data, and the experiments that make them."""
