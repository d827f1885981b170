"""Code that `tundish doctor` loads into the user's process to measure the training loop.

The modules import only the standard library and each other. They use torch only after the script
has imported it, because the order of the script's imports must not change. They do not need the
tundish package, which the script's interpreter may lack. The verdict is computed later, in verdict/.
"""
