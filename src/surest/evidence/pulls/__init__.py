"""Evidence from fresh pulls."""
