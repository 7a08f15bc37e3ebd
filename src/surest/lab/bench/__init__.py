"""The benchmark: instances (suites), replications (run), rows (tables), pictures, and what the rows say (reading)."""
