"""A session whose log is in a database: it survives, and any number of processes share it."""
