"""Facts about this process: its rank, its CPUs, the origin of its code, its random states.

These modules import only the standard library, and look up torch and NumPy in sys.modules. The doctor loads this
folder by path inside the user's script, because the script's Python may not have Tundish installed.
"""
