"""Checks that a trick keeps the training step correct: same bits, within fp32 noise, or by loss curve."""
