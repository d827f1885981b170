"""Forwards the output of the ranks.

Rank 0 writes to the terminal as if it ran alone. Lines of other ranks are prefixed with "[rank 1] "
and go to stderr. With a log folder, other ranks write only to their log files. One thread reads all
streams, so the order of events is known.
"""

from __future__ import annotations

import fcntl
import os
import pty
import select
import termios
import time
from collections import deque
from pathlib import Path
from typing import IO

from .failure import TRACEBACK

KEPT_LINES = 200  # last lines to keep of each stream, for the failure report
_LONGEST_LINE = 1 << 16  # bytes; longer lines are forwarded in pieces of this size
_MOST_QUEUED = 1 << 23  # bytes for a reader that takes nothing, after the ranks were asked to end
_TRACEBACK = TRACEBACK.encode()


class Terminal:
    """The launcher's stdout and stderr. A closed reader stops the output, not the run.

    Nothing blocks here: what a reader does not take yet is queued, so that the launcher still
    handles signals. The supervisor reads no more output while `is_blocked`.
    """

    def __init__(self) -> None:
        self._is_screen = {descriptor: os.isatty(descriptor) for descriptor in (1, 2)}
        self._in_line = False  # whether rank 0 has written part of a line, such as a progress bar
        self._closed: set[int] = set()
        self._queue: deque[tuple[int, memoryview]] = deque()
        self._queued = 0  # bytes
        self.drops = False  # whether output is dropped that would exceed _MOST_QUEUED

    @property
    def is_blocked(self) -> bool:
        return bool(self._queue)

    def write(self, descriptor: int, data: bytes) -> None:
        """Writes bytes of rank 0 immediately and unchanged."""
        self._put(descriptor, data)
        if self._is_screen[descriptor]:
            self._in_line = not data.endswith(b"\n")

    def write_line(self, text: bytes) -> None:
        """Writes a whole line to stderr, never inside a line of rank 0."""
        begin = b"\n" if self._in_line and self._is_screen[2] else b""
        self._put(2, begin + text + b"\n")
        self._in_line = False if begin else self._in_line

    def flush(self) -> None:
        """Writes what the readers take now, in order."""
        while self._queue:
            descriptor, data = self._queue[0]
            if descriptor not in self._closed and not is_writable(descriptor):
                return
            self._queue.popleft()
            self._queued -= len(data)
            rest = data[self._write(descriptor, data[: select.PIPE_BUF]) :]
            if rest and descriptor not in self._closed:
                self._queue.appendleft((descriptor, rest))
                self._queued += len(rest)

    def wait(self, other: int, seconds: float) -> None:
        """Waits until the reader takes more, until `other` can be read, or for `seconds`."""
        poll = select.poll()
        poll.register(other, select.POLLIN)
        if self._queue:
            poll.register(self._queue[0][0], select.POLLOUT)
        poll.poll(1000 * seconds)
        self.flush()

    def discard(self) -> None:
        """Drops what no reader took."""
        self._queue.clear()
        self._queued = 0

    def _put(self, descriptor: int, data: bytes) -> None:
        if descriptor in self._closed or (self.drops and self._queued > _MOST_QUEUED):
            return
        self._queue.append((descriptor, memoryview(data)))
        self._queued += len(data)
        self.flush()

    def _write(self, descriptor: int, data: memoryview) -> int:
        """Returns the number of bytes written."""
        if descriptor in self._closed:
            return 0
        try:
            return os.write(descriptor, data)
        except BlockingIOError:  # another process that shares the terminal set O_NONBLOCK
            return 0
        except OSError:
            self._closed.add(descriptor)
            return 0


def is_writable(descriptor: int, seconds: float = 0.0) -> bool:
    """Returns whether PIPE_BUF bytes can be written without blocking, or an error would be raised."""
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    return bool(poll.poll(1000 * seconds))


class Channel:
    """One stream of one rank: a pipe, or a pseudo-terminal if the launcher's stream is a terminal.

    A pseudo-terminal keeps progress bars and colors.
    """

    def __init__(self, like: int | None) -> None:
        """`like` is the launcher's descriptor to imitate. With None, the channel is always a pipe."""
        if like is not None and os.isatty(like):
            self.read_end, self.write_end = pty.openpty()
            settings = termios.tcgetattr(self.write_end)
            settings[1] &= ~termios.OPOST  # pass bytes through unchanged
            termios.tcsetattr(self.write_end, termios.TCSANOW, settings)
            size = fcntl.ioctl(like, termios.TIOCGWINSZ, b"\0" * 8)
            fcntl.ioctl(self.write_end, termios.TIOCSWINSZ, size)
        else:
            self.read_end, self.write_end = os.pipe()
        os.set_blocking(self.read_end, False)

    def read(self) -> bytes | None:
        """Returns the available bytes, b"" if there are none yet, or None at end of file."""
        try:
            return os.read(self.read_end, 1 << 16) or None
        except BlockingIOError:
            return b""
        except OSError:  # EIO: the last writer of a terminal has closed it
            return None

    def close_writer(self) -> None:
        os.close(self.write_end)

    def close(self) -> None:
        os.close(self.read_end)


class LineSplitter:
    """Splits bytes into lines. Keeps only the last state of a line that carriage returns overwrite."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[bytes]:
        *whole, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > _LONGEST_LINE:
            whole.append(self._rest)
            self._rest = b""
        return [_last_state(line) for line in whole]

    def end(self) -> list[bytes]:
        rest, self._rest = self._rest, b""
        return [_last_state(rest)] if rest else []


def _last_state(line: bytes) -> bytes:
    return line.rstrip(b"\r").rpartition(b"\r")[2]


class Stream:
    """Forwards stdout or stderr of one rank to the terminal and the log."""

    def __init__(
        self,
        rank: int,
        terminal: Terminal,
        direct: int | None,
        prefix: bytes | None,
        log: IO[bytes] | None,
    ) -> None:
        """Forwards bytes unchanged to the descriptor `direct`, or lines with `prefix` to stderr.

        Without `direct` and `prefix`, nothing is written to the terminal.
        """
        self._torch_prefix = b"[rank%d]: " % rank  # torch puts this before each line of a traceback
        self.channel = Channel(direct)
        self.tail: deque[bytes] = deque(maxlen=KEPT_LINES)
        self.traceback_at: float | None = None  # start of the last traceback (monotonic)
        self._terminal = terminal
        self._direct = direct
        self._prefix = prefix
        self._log = log
        self._lines = LineSplitter()

    def pump(self, parts: int = 16) -> bool:
        """Forwards the available data, at most `parts` reads. Returns False at end of file."""
        for _ in range(parts):
            data = self.channel.read()
            if data is None:
                return False
            if not data:
                break
            self._forward(data)
        return True

    def finish(self) -> None:
        self.pump(
            1024
        )  # 64 MiB: more than a pipe holds, but limited in case another process still writes
        self._keep(self._lines.end())
        self.channel.close()

    def _forward(self, data: bytes) -> None:
        if self._log is not None:
            self._write_log(self._log, data)
        if self._direct is not None:
            self._terminal.write(self._direct, data)
        self._keep(self._lines.feed(data))

    def _write_log(self, log: IO[bytes], data: bytes) -> None:
        try:
            log.write(data)
        except OSError as error:  # a full disk must not end the training run
            self._log = None
            text = f"tundish: {log.name}: {error.strerror}; the log ends here"
            self._terminal.write_line(os.fsencode(text))

    def _keep(self, lines: list[bytes]) -> None:
        for line in lines:
            line = line.removeprefix(self._torch_prefix)
            if line.startswith(_TRACEBACK):
                self.traceback_at = time.monotonic()
            self.tail.append(line)
            if self._direct is None and self._prefix is not None:
                self._terminal.write_line(self._prefix + line)


class RankOutput:
    """stdout and stderr of one rank, and its log file."""

    def __init__(
        self, rank: int, first: bool, terminal: Terminal, logs: Path | None, stdout: int
    ) -> None:
        """`first`: whether this is the first rank of this machine.

        `stdout`: descriptor for the first rank's stdout, which is 2 with --json.
        """
        self.log_path = None if logs is None else logs / f"rank{rank}.log"
        self._log = None if self.log_path is None else open(self.log_path, "wb", 0)  # noqa: SIM115
        prefix = None if first or logs is not None else b"[rank %d] " % rank
        self.stdout = Stream(rank, terminal, stdout if first else None, prefix, self._log)
        self.stderr = Stream(rank, terminal, 2 if first else None, prefix, self._log)
        self.streams = (self.stdout, self.stderr)

    def finish(self) -> None:
        for stream in self.streams:
            stream.finish()
        if self._log is not None:
            self._log.close()
