"""The result of a boost as text and as a page."""
