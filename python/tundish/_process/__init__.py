"""Facts about this process: its rank, its CPUs, the origin of its code, its random states.

The modules import only the standard library, and look torch and NumPy up in sys.modules. The
doctor's probe loads this folder by path, because the script's Python may lack tundish.
"""
