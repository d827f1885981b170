"""`tundish doctor` and `tundish.doctor`: runs a training script, and says what bounds its step."""
