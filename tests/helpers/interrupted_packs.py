"""Packs that are interrupted at random moments, and what must be true after each interruption."""

import os
import signal
import subprocess
import time

from tests.helpers.program import PROGRAM


class Job:
    """One command of `tundish pack`, and the files that it makes when nothing interrupts it."""

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
        """Starts it and sends a signal at a random moment. True: the signal hit, and work is left."""
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
        """What is visible is complete, and what was finished before is there still."""
        now = contents(self.folder)
        assert set(finished) <= set(now), "a finished file is gone"
        for name, data in now.items():
            assert data == self.files[name], f"{name} is not as an uninterrupted pack makes it"

    def complete(self):
        """Runs to the end; gives the files, which must be `self.files`."""
        if contents(self.folder) != self.files:
            subprocess.run(self.words, check=True)
        return contents(self.folder)

    def finish(self):
        """Runs to the end: the same bytes, and nothing else is left. Then all of it is removed."""
        assert self.complete() == self.files
        hidden = [name for name in os.listdir(self.folder) if name.startswith(".")]
        if (
            hidden
        ):  # killed after the last rename: the next run says that the file exists, and tidies up
            assert [name.endswith(".journal") for name in hidden] == [True]
            assert subprocess.run(self.words, stderr=subprocess.DEVNULL).returncode == 1
            assert not any(name.startswith(".") for name in os.listdir(self.folder))
        for name in os.listdir(self.folder):
            (self.folder / name).unlink()
        return hidden


def contents(folder):
    """The visible files."""
    return {
        name: (folder / name).read_bytes()
        for name in os.listdir(folder)
        if not name.startswith(".")
    }
