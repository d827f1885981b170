"""Matrix stacks and Newton-Schulz iterations of Muon."""
