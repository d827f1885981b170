"""Interrupts `tundish pack` at random moments and checks the files after each interruption."""

import os
import signal
import subprocess
import time

from tests.helpers.program import PROGRAM


class Job:
    """A `tundish pack` command, and the files that an uninterrupted run writes."""

    def __init__(self, folder, name, source, options):
        self.folder = folder / name
        self.folder.mkdir()
        self.words = [PROGRAM, "pack", source, "--quiet", "-j", "2", *options]
        whole = folder / f"{name}.whole"
        whole.mkdir()
        start = time.monotonic()
        subprocess.run([*self.words, "-o", whole / "t.tnd"], check=True)
        self.usual = time.monotonic() - start
        self.files = contents(whole)
        self.words += ["-o", self.folder / "t.tnd"]

    def interrupt(self, choose, signals=(signal.SIGKILL, signal.SIGINT)):
        """Sends a signal to a run at a random moment. Returns True if the signal left work to do."""
        finished = contents(self.folder)
        process = subprocess.Popen(self.words, stderr=subprocess.PIPE)
        time.sleep(choose.uniform(0, self.usual))
        sent = choose.choice(signals)
        process.send_signal(sent)
        _, text = process.communicate()
        if process.returncode != 0:
            hit = process.returncode in (-sent, 130)
            assert hit, f"exit {process.returncode}: {text.decode()}"
        self.check(finished)
        return process.returncode != 0 and contents(self.folder) != self.files

    def check(self, finished=()):
        """Checks that all visible files are complete, and that finished files still exist."""
        now = contents(self.folder)
        assert set(finished) <= set(now), "a finished file is gone"
        for name, data in now.items():
            assert data == self.files[name], f"{name} is not as an uninterrupted pack makes it"

    def complete(self):
        """Runs the command to its end if needed. Returns the files, which must equal `self.files`."""
        if contents(self.folder) != self.files:
            subprocess.run(self.words, check=True)
        return contents(self.folder)

    def finish(self):
        """Completes the work, checks that nothing else is left in the folder, and removes the files."""
        assert self.complete() == self.files
        hidden = [name for name in os.listdir(self.folder) if name.startswith(".")]
        if (
            hidden
        ):  # killed after the last rename; the next run refuses the existing file and cleans up
            assert [name.endswith(".journal") for name in hidden] == [True]
            assert subprocess.run(self.words, stderr=subprocess.DEVNULL).returncode == 1
            assert not any(name.startswith(".") for name in os.listdir(self.folder))
        for name in os.listdir(self.folder):
            (self.folder / name).unlink()
        return hidden


def contents(folder):
    """Returns the contents of the visible files by name."""
    return {
        name: (folder / name).read_bytes()
        for name in os.listdir(folder)
        if not name.startswith(".")
    }
