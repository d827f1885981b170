"""Whether a trick still computes the user's training step: bit for bit, within fp32 noise, or by its loss curve."""
