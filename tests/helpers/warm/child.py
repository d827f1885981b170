"""The server process for tests/helpers/warm_python.py. Arguments: FOLDER MODULE...

Imports the modules, then forks for every request. A request is a connection to FOLDER/socket that
sends one byte with file descriptors: standard input, output and error, a file with the request as
JSON, and the descriptors that the request names. The replies are the process id and, later, the exit
status. A fork leaves serve() and runs its program like `python` does, so it also ends like `python`.
"""

import contextlib
import fcntl
import gc
import importlib
import json
import os
import random
import runpy
import select
import signal
import socket
import sys
import types
import warnings

MOST_DESCRIPTORS = 32
HIGH = 900  # larger than all descriptors that requests use; the limit is at least 1024


class Server:
    """Forks for every request. Only a fork returns from serve(), with its request."""

    def __init__(self, path):
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(path + ".new")
        self.listener.listen(64)
        os.rename(path + ".new", path)  # so that clients can connect as soon as they see the file
        self.running = {}  # running processes, by connection and by process descriptor
        self.poll = select.poll()
        self.poll.register(self.listener, select.POLLIN)
        self.poll.register(0, select.POLLIN)

    def serve(self):
        while True:
            ready = self.poll.poll()[0][0]  # one at a time, because an event may close others
            if ready == 0:  # the input has ended, because pytest has ended
                for _, _, pid in set(self.running.values()):
                    os.kill(pid, signal.SIGKILL)
                os._exit(0)
            if ready != self.listener.fileno():
                self.look_at(ready)
                continue
            request = self.accept()
            if request:
                return request

    def accept(self):
        """Accepts a request and forks. Returns the request in the fork, and None in the server."""
        connection, _ = self.listener.accept()
        _, descriptors, _, _ = socket.recv_fds(connection, 1, MOST_DESCRIPTORS)
        if not descriptors:
            connection.close()
            return None
        pid = os.fork()
        if pid == 0:
            self.listener.close()
            for other, process, _ in set(self.running.values()):
                other.close()  # close the object, because the program may reuse the descriptor
                os.close(process)
            answer = fcntl.fcntl(connection, fcntl.F_DUPFD, HIGH)
            connection.close()
            request = request_of(*descriptors)
            os.write(answer, b"%d" % os.getpid())  # after setsid()
            os.close(answer)
            return request
        for descriptor in descriptors:
            os.close(descriptor)
        process = os.pidfd_open(pid)
        for descriptor in (connection.fileno(), process):
            self.running[descriptor] = (connection, process, pid)
            self.poll.register(descriptor, select.POLLIN)
        return None

    def look_at(self, ready):
        """Handles the end of a process, or the end of its client, after which the process is killed."""
        connection, process, pid = self.running[ready]
        if ready != process:
            os.kill(pid, signal.SIGKILL)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        for descriptor in (connection.fileno(), process):
            self.poll.unregister(descriptor)
            del self.running[descriptor]
        if ready == process:
            with contextlib.suppress(BrokenPipeError):  # the client may have exited
                connection.send(b"%d" % status)
        connection.close()
        os.close(process)


def request_of(given, out, error, text, *more):
    """Reads the request, and sets up its files, working folder and environment."""
    with open(text) as file:
        request = json.load(file)
    wanted = (0, 1, 2, *request["numbers"])
    high = [fcntl.fcntl(one, fcntl.F_DUPFD, HIGH) for one in (given, out, error, *more)]
    for descriptor in (given, out, error, *more):
        os.close(descriptor)
    for source, target in zip(high, wanted, strict=True):
        os.dup2(source, target)
        os.close(source)
    if request["session"]:
        os.setsid()
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    random.seed()  # otherwise all forks would draw the same numbers
    if request["nested"]:
        sys.executable = request["nested"]
    return request


def run(kind, *words):
    """Runs the program of `python -c TEXT ARGS`, `python -m MODULE ARGS` or `python FILE ARGS`."""
    while kind in ("-W", "-u", "-P"):
        if kind == "-W":
            warnings.simplefilter(words[0])
        kind, *words = words[1:] if kind == "-W" else words
    if kind == "-c":
        text, *sys.argv[1:] = words
        sys.argv[0], sys.path[0] = "-c", ""
        main = types.ModuleType("__main__")
        sys.modules["__main__"] = main
        exec(compile(text, "<string>", "exec"), main.__dict__)
    elif kind == "-m":
        module, *sys.argv[1:] = words
        sys.path[0] = os.getcwd()
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    else:
        sys.argv = [kind, *words]
        sys.path[0] = os.path.dirname(os.path.abspath(kind))
        runpy.run_path(kind, run_name="__main__")


if __name__ == "__main__":
    server = Server(os.path.join(sys.argv[1], "socket"))
    for module in sys.argv[2:]:
        importlib.import_module(module)
    gc.freeze()  # the garbage collector skips imported objects, so forks keep sharing their memory
    run(*server.serve()["words"])
