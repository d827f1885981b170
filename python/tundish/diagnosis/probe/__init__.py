"""What `tundish doctor` loads into the user's own process: it measures, and judges nothing.

The modules import the standard library and each other, torch only where the script has imported it:
the script's interpreter may have no tundish, and its imports keep their order. doctor/ judges.
"""
