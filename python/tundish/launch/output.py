"""What the ranks print. Rank 0 writes to the terminal as if it were alone; the lines of the others
carry "[rank 1] " and go to stderr; with a folder for logs the others write only there.

One thread reads all streams, so that their order in time is known.
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

KEPT_LINES = 200  # of each stream, for the report of a failure
_LONGEST_LINE = 1 << 16  # a line that does not end is handed on in parts of this size
_TRACEBACK = TRACEBACK.encode()


class Terminal:
    """The launcher's own stdout and stderr. A reader who went away ends the showing, not the run."""

    def __init__(self) -> None:
        self._is_screen = {descriptor: os.isatty(descriptor) for descriptor in (1, 2)}
        self._in_line = False  # rank 0 has begun a line on the screen, as progress bars do
        self._closed: set[int] = set()

    def write(self, descriptor: int, data: bytes) -> None:
        """Bytes of rank 0, at once and unchanged."""
        self._put(descriptor, data)
        if self._is_screen[descriptor]:
            self._in_line = not data.endswith(b"\n")

    def line(self, text: bytes) -> None:
        """A whole line on stderr, never in the middle of one of rank 0's."""
        begin = b"\n" if self._in_line and self._is_screen[2] else b""
        self._put(2, begin + text + b"\n")
        self._in_line = False if begin else self._in_line

    def _put(self, descriptor: int, data: bytes) -> None:
        while data and descriptor not in self._closed:
            try:
                data = data[os.write(descriptor, data) :]
            except BlockingIOError:  # somebody who shares the terminal has set O_NONBLOCK
                select.select([], [descriptor], [])
            except OSError:
                self._closed.add(descriptor)


class Channel:
    """One stream of one rank: a pipe, or a terminal of its own where the launcher's is one, so that
    progress bars and colours stay."""

    def __init__(self, like: int | None) -> None:
        """like: the descriptor whose place the stream takes; None: always a pipe."""
        if like is not None and os.isatty(like):
            self.read_end, self.write_end = pty.openpty()
            settings = termios.tcgetattr(self.write_end)
            settings[1] &= ~termios.OPOST  # bytes pass unchanged
            termios.tcsetattr(self.write_end, termios.TCSANOW, settings)
            size = fcntl.ioctl(like, termios.TIOCGWINSZ, b"\0" * 8)
            fcntl.ioctl(self.write_end, termios.TIOCSWINSZ, size)
        else:
            self.read_end, self.write_end = os.pipe()
        os.set_blocking(self.read_end, False)

    def read(self) -> bytes | None:
        """What is there; b"" for nothing now, None when nobody can write any more."""
        try:
            return os.read(self.read_end, 1 << 16) or None
        except BlockingIOError:
            return b""
        except OSError:  # EIO: the last writer of a terminal is gone
            return None

    def close_writer(self) -> None:
        os.close(self.write_end)

    def close(self) -> None:
        os.close(self.read_end)


class Lines:
    """Bytes cut into lines. Of a line that was overwritten with \\r only the last state counts."""

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
    """stdout or stderr of one rank on its way to the terminal and the log."""

    def __init__(
        self,
        rank: int,
        terminal: Terminal,
        direct: int | None,
        prefix: bytes | None,
        log: IO[bytes] | None,
    ) -> None:
        """direct: the descriptor that gets the bytes as they are; prefix: of lines on stderr; with
        neither the terminal gets nothing."""
        self._own = b"[rank%d]: " % rank  # what torch puts before each line of a traceback
        self.channel = Channel(direct)
        self.tail: deque[bytes] = deque(maxlen=KEPT_LINES)
        self.traceback_at: float | None = None  # when the last traceback began (monotonic)
        self._terminal = terminal
        self._direct = direct
        self._prefix = prefix
        self._log = log
        self._lines = Lines()

    def pump(self, parts: int = 16) -> bool:
        """Hands on what can be read now, at most so many parts, since others wait; False when the
        stream has ended."""
        for _ in range(parts):
            data = self.channel.read()
            if data is None:
                return False
            if not data:
                break
            self._take(data)
        return True

    def finish(self) -> None:
        self.pump(1024)  # 64 MiB: more than a pipe holds, and an end if somebody still writes
        self._keep(self._lines.end())
        self.channel.close()

    def _take(self, data: bytes) -> None:
        if self._log is not None:
            self._write_log(self._log, data)
        if self._direct is not None:
            self._terminal.write(self._direct, data)
        self._keep(self._lines.feed(data))

    def _write_log(self, log: IO[bytes], data: bytes) -> None:
        try:
            log.write(data)
        except OSError as error:  # a full disk does not end a training run
            self._log = None
            text = f"tundish: {log.name}: {error.strerror}; the log ends here"
            self._terminal.line(os.fsencode(text))

    def _keep(self, lines: list[bytes]) -> None:
        for line in lines:
            line = line.removeprefix(self._own)
            if line.startswith(_TRACEBACK):
                self.traceback_at = time.monotonic()
            self.tail.append(line)
            if self._direct is None and self._prefix is not None:
                self._terminal.line(self._prefix + line)


class RankOutput:
    """Both streams of one rank, and its log file."""

    def __init__(
        self, rank: int, first: bool, terminal: Terminal, logs: Path | None, stdout: int
    ) -> None:
        """first: of this machine. stdout: where the first one's goes; 2 with --json."""
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
