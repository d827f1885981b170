"""`Loader(device="cuda")`: finishes batches on a GPU."""
