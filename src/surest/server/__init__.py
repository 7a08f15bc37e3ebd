"""A service over HTTP: pages to watch studies, and an API for workers in any language. `surest serve` runs it."""
