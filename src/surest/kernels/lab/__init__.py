"""The inner loops of rivals, which the lab alone uses."""
