"""A service over HTTP: pages to watch studies, and a door for workers in any language. `surest serve` runs it."""
