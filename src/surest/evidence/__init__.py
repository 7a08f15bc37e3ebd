"""What rewards say about a mean, valid at any time."""
