"""Code that runs in the user's process and makes the changes of a boost there.

The modules import only the standard library until the script has imported torch, and tundish only
to make a change, so that the order of the script's imports stays the same.
"""
