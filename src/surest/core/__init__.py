"""The core: what a problem is, what an algorithm asks, and a procedure seen as ask and tell. No input or output, no clock."""
