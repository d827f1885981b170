"""Compares the losses and gradients of a changed script with the unchanged script's.

Both start from the same weights and train on the same batches with the same random numbers. The
unchanged script is run several times, with inputs or weights nudged by half a unit in the last
place, to see how far equal runs drift apart.
"""
