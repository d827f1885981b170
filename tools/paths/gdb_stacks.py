"""Runs inside gdb. Writes the stack at the first call of each function in POINTS.

Appends JSON lines to the file STACKS. POINTS and STACKS are environment variables.

gdb -nx -batch -x tools/paths/gdb_stacks.py --args PROGRAM ...
"""

import json
import os

import gdb


def frames():
    """Returns [function, file] of our own frames, from the outermost frame to the current one."""
    out = []
    frame = gdb.newest_frame()
    while frame is not None:
        symtab = frame.find_sal().symtab
        file = "src/" + (symtab.fullname() if symtab else "").rpartition("/src/")[2]
        if os.path.isfile(os.path.join(os.environ["ROOT"], file)) and frame.name():
            out.append([frame.name().split("(")[0], file])
        frame = frame.older()
    return out[::-1]


class Point(gdb.Breakpoint):
    def __init__(self, step, function):
        super().__init__(function, temporary=False)
        self.silent = True
        self.step = step

    def stop(self):
        with open(os.environ["STACKS"], "a") as out:
            print(json.dumps({"step": self.step, "frames": frames()}), file=out)
        self.enabled = False
        return False


gdb.execute("set pagination off")
gdb.execute("set breakpoint pending on")
gdb.execute("set print thread-events off")
for step, function in json.loads(os.environ["POINTS"]):
    Point(step, function)
gdb.execute("run")
