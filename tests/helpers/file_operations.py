"""Random file operations in one folder: python file_operations.py FOLDER SEED COUNT

Prints one line of JSON per operation: what it did, and its result or errno. The same seed gives the
same operations, so two runs can be compared.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from typing import Any

NAMES = ["a", "b", "c.txt", "sub", "sub/a", "sub/new", "sub/deep/x", "empty", "link", "link/a"]
NAMES += ["broken", "chain", "two words", "new", "new/n", "new/n/m", "up/../a", "sub/./a", "loop"]
NAMES += [
    "sub/deep",
    "other",
    "other/o",
    "copied",
    "copied/a",
    "a/below",
    "new/",
    "sub/",
    "./new//n",
    "sub/../new/n",
]


def fill(folder: str) -> None:
    """Makes the files that the operations find."""
    for name in ("sub/deep", "empty", "other", "up"):
        os.makedirs(os.path.join(folder, name))
    for name in ("a", "b", "c.txt", "sub/a", "sub/deep/x", "two words", "other/o"):
        with open(os.path.join(folder, name), "w") as file:
            file.write(f"the user's {name}\n" * 3)
    os.symlink("sub", os.path.join(folder, "link"))
    os.symlink("missing", os.path.join(folder, "broken"))
    os.symlink("link/a", os.path.join(folder, "chain"))
    os.symlink("loop", os.path.join(folder, "loop"))
    os.chmod(os.path.join(folder, "b"), 0o640)


class Operations:
    """Each method is an operation on random names. Returns something that JSON can hold."""

    def __init__(self, folder: str, seed: int) -> None:
        self.folder, self.random = folder, random.Random(seed)
        self.above = os.path.dirname(folder)
        self.last = ""  # the operation in words

    def step(self) -> tuple[str, Any]:
        names = [name for name in vars(Operations) if name.startswith("do_")]
        chosen = self.random.choice(names)
        try:
            result = getattr(self, chosen)()
        except OSError as error:
            # The guard may give another number for a name that ends with a slash.
            result = "error" if "/ " in f"{self.last} " else f"errno {error.errno}"
        return f"{chosen[3:]} {self.last}", result

    def name(self) -> str:
        name = self.random.choice(NAMES)
        self.last = name
        return os.path.join(self.folder, name) if self.random.random() < 0.5 else name

    def two(self) -> tuple[str, str]:
        one = self.name()
        first = self.last
        two = self.name()
        self.last = f"{first} -> {self.last}"
        return one, two

    def do_read(self) -> Any:
        with open(self.name(), "rb") as file:
            return file.read().decode()

    def do_write(self) -> Any:
        mode = self.random.choice(["w", "a", "r+", "x", "w+", "a+"])
        name = self.name()
        self.last += f" {mode}"
        with open(name, mode) as file:
            count = file.write(f"{mode} {self.random.randrange(100)}\n")
            if "+" not in mode:
                return count
            file.seek(0)
            return file.read()

    def do_open_flags(self) -> Any:
        choices = (os.O_CREAT, os.O_TRUNC, os.O_EXCL, os.O_NOFOLLOW, os.O_APPEND, os.O_DIRECTORY)
        flags = self.random.choice([os.O_RDONLY, os.O_WRONLY, os.O_RDWR])
        for one in choices:
            flags |= one if self.random.random() < 0.25 else 0
        name = self.name()
        self.last += f" {flags:o}"
        file = os.open(name, flags, 0o664)
        try:
            status = os.fstat(file)
            return [stat.S_IFMT(status.st_mode), os.write(file, b"12345") if flags & 3 else 0]
        finally:
            os.close(file)

    def do_rename(self) -> Any:
        one, two = self.two()
        call = self.random.choice([os.rename, os.replace])
        return call(one, two)

    def do_unlink(self) -> Any:
        return os.unlink(self.name())

    def do_mkdir(self) -> Any:
        return os.mkdir(self.name(), self.random.choice([0o777, 0o700]))

    def do_makedirs(self) -> Any:
        return os.makedirs(self.name(), exist_ok=self.random.random() < 0.7)

    def do_rmdir(self) -> Any:
        return os.rmdir(self.name())

    def do_rmtree(self) -> Any:
        return shutil.rmtree(self.name()) if self.random.random() < 0.4 else None

    def do_symlink(self) -> Any:
        target = self.random.choice(["a", "sub", "../a", os.path.join(self.folder, "sub/a"), "new"])
        name = self.name()
        self.last += f" -> {os.path.basename(target)}"
        return os.symlink(target, name)

    def do_link(self) -> Any:
        return os.link(*self.two(), follow_symlinks=False)

    def do_truncate(self) -> Any:
        return os.truncate(self.name(), self.random.choice([0, 5, 100]))

    def do_chmod(self) -> Any:
        return os.chmod(self.name(), self.random.choice([0o644, 0o600, 0o755]))

    def do_utime(self) -> Any:
        name = self.name()
        os.utime(name, ns=(10**18, 10**18 + 7))
        return os.stat(name).st_mtime_ns

    def do_stat(self) -> Any:
        follow = self.random.random() < 0.5
        status = os.stat(self.name(), follow_symlinks=follow)
        size = status.st_size if stat.S_ISREG(status.st_mode) else None
        return [stat.S_IFMT(status.st_mode), stat.S_IMODE(status.st_mode), size]

    def do_questions(self) -> Any:
        name = self.name()
        path = os.path
        kinds = (path.exists, path.isdir, path.isfile, path.islink, path.lexists)
        return [*(ask(name) for ask in kinds), os.access(name, os.R_OK), os.access(name, os.X_OK)]

    def do_readlink(self) -> Any:
        return os.readlink(self.name()).replace(self.above, "")

    def do_realpath(self) -> Any:
        return os.path.realpath(self.name(), strict=True).replace(self.above, "")

    def do_list(self) -> Any:
        with os.scandir(self.name()) as entries:
            kinds = [(e.name, e.is_dir(follow_symlinks=False), e.is_symlink()) for e in entries]
        return sorted(kinds)

    def do_walk(self) -> Any:
        return [[top.replace(self.folder, ""), sorted(below), sorted(files)]
                for top, below, files in sorted(os.walk(self.folder))]  # fmt: skip

    def do_in_folder(self) -> Any:
        """Uses names relative to an open folder."""
        folder = self.name()
        opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            calls: list[Callable[[str], Any]] = [
                lambda n: os.mkdir(n, dir_fd=opened),
                lambda n: os.unlink(n, dir_fd=opened),
                lambda n: os.rename(n, "moved", src_dir_fd=opened, dst_dir_fd=opened),
                lambda n: os.stat(n, dir_fd=opened).st_size and None,
                lambda n: os.close(os.open(n, os.O_CREAT | os.O_WRONLY, dir_fd=opened)),
                lambda n: sorted(os.listdir(opened)),
            ]
            return self.random.choice(calls)(self.random.choice(["a", "n", "x", "moved"]))
        finally:
            os.close(opened)

    def do_change_folder(self) -> Any:
        os.chdir(self.name())
        where = os.getcwd().replace(self.above, "")
        try:
            with open("here", "a") as file:
                file.write("x")
            return [where, sorted(os.listdir()), os.path.getsize("here"), os.path.exists("../a")]
        finally:
            os.chdir(self.folder)

    def do_shell(self) -> Any:
        words = self.random.choice(["echo x > $1", "echo y >> $1", "rm -rf $1", "mv $1 $2",
                                    "cp -r $1 copied", "mkdir -p $1", "touch $1", "cat $1", "ln -sf $1 $2",
                                    "cp -p $1 $2", "test -e $1", "install -m 600 $1 $2"])  # fmt: skip
        one, two = self.two()
        self.last = f"{words}: {self.last}"
        if "copied" in words and os.path.lexists("copied"):
            return None  # how much of a folder is copied into itself depends on the order of its entries
        ended = subprocess.run(
            ["sh", "-c", words, "sh", one, two], capture_output=True, text=True, cwd=self.folder
        )
        return [ended.returncode, ended.stdout]


def main(folder: str, seed: int, count: int) -> None:
    folder = os.path.realpath(folder)
    os.chdir(folder)
    operations = Operations(folder, seed)
    for _ in range(count):
        print(json.dumps(operations.step()), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
