"""Algorithms for other questions than "which arm is the best?"."""
