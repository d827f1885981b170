"""Data loading: the loader, datasets by sample number, orders."""
