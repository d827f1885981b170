"""A Linux control group for one process, with a CPU quota that can change while the process runs."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

GROUPS = Path("/sys/fs/cgroup")


@contextlib.contextmanager
def control_group() -> Iterator[tuple[Path | None, str]]:
    """Yields the group's folder and version, or None and the reason why there is no group.

    The group is created inside the group of this process, and removed at the end.
    """
    parent, version = _own_group()
    if parent is None:
        yield None, version
        return
    group = parent / f"tundish-bench-{os.getpid()}"
    try:
        if version == "version 2":  # children get quotas only if the parent delegates them
            (parent / "cgroup.subtree_control").write_text("+cpu")
        group.mkdir()
    except OSError as error:
        yield None, f"no control group can be made: {error.strerror}"
        return
    try:
        yield group, version
    finally:
        _remove(group)


def inside(group: Path, line: list[str]) -> list[str]:
    """Returns the command line that runs `line` in the group."""
    return ["sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', str(group), *line]


def _own_group() -> tuple[Path | None, str]:
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, group = line.split(":", 2)
        if "cpu" in controllers.split(","):
            return GROUPS / "cpu" / group.lstrip("/"), "version 1"
    if (GROUPS / "cgroup.controllers").is_file():
        return GROUPS / group.lstrip("/"), "version 2"  # version 2 has only one line
    return None, "no control groups of CPU time are mounted"


def _remove(group: Path) -> None:
    for _ in range(50):  # a process that has ended may stay in the group for a moment
        with contextlib.suppress(OSError):
            group.rmdir()
            return
        time.sleep(0.1)
    raise SystemExit(f"bench: cannot remove the control group {group.name}")
