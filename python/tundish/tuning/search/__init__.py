"""The search: which variants to try, paired times, gates, confirmation."""
