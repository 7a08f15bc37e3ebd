"""What runs a procedure."""
