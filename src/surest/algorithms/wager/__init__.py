"""Wager, the default algorithm."""
