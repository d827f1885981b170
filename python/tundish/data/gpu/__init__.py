"""`Loader(device="cuda")`: batches that are finished on a GPU."""
