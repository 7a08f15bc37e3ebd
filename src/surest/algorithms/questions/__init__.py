"""Algorithms for other questions than "which is the best?": the m best, above a bar, better than a control."""
