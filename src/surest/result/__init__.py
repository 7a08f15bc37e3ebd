"""What a search gives: data, the words for it, and its JSON."""

from surest.result.data import Result as Result
