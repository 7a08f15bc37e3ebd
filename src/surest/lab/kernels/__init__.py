"""The inner loops of rivals, built as those of `surest.kernels` are."""

from surest.kernels import find_sources

find_sources(__path__)
