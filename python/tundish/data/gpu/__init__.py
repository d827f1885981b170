"""`Loader(device="cuda")`: delivers batches that are finished on a GPU."""
