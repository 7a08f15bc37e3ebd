"""For researchers: rivals, benchmarks, bounds. Nothing else imports it."""
