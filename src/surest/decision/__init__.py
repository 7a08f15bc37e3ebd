"""Decision files: what a verdict rests on, written so that somebody else can check it (docs/verify.md)."""
