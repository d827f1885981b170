"""Loading: the loader, the data set by number, the orders."""
