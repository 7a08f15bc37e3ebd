"""How hard an instance is."""
