"""What a search gives: data, the words for it, and its JSON."""
