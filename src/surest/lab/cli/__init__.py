"""The commands `bench` and `bounds`."""
