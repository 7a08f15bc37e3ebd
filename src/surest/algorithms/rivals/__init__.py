"""Published algorithms, one file each."""
