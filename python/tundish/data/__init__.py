"""Data loading: the Loader, the Dataset of single samples, and sampling orders."""
