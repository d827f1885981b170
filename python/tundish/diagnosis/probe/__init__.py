"""Code that `tundish doctor` loads into the user's process. It measures but does not judge.

The modules import only the standard library and each other, and torch only if the script has
imported it. The script's interpreter may lack tundish, and the order of its imports must not
change. The verdict is computed in verdict/.
"""
