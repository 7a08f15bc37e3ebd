"""For researchers: the paper's algorithms, rivals, benchmarks, bounds. Nothing else imports it."""
