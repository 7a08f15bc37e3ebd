"""Evidence on lists of items."""
