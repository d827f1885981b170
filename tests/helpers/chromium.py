"""Loads a page in headless Chromium and returns console output, a screenshot and script results."""

import json
import os
import re
import shutil
import subprocess

import pytest

NAMES = ("chromium-headless-shell", "chromium", "google-chrome")
LOOK = """<script>
document.title = JSON.stringify({
  page: document.documentElement.scrollWidth, window: innerWidth,
  charts: [...document.querySelectorAll("[role=img]")].map(one => one.getBoundingClientRect().width),
  hidden: [...document.querySelectorAll("*")].filter(one =>
    one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).overflowX == "auto" && one.tabIndex < 0
  ).map(one => one.tagName),
})
</script>"""


def find_chromium():
    """Returns the path of the browser. TUNDISH_CHROMIUM names a browser that is not on the PATH."""
    given = os.environ.get("TUNDISH_CHROMIUM")
    found = [given] if given else [path for path in map(shutil.which, NAMES) if path]
    if not found:
        pytest.skip("no Chromium is installed")
    return found[0]


def look_at(text, folder, width, height=2000, dark=False):
    """Loads a page. Returns the results of the script LOOK, the console lines and the screenshot's path."""
    program = find_chromium()
    (folder / "page.html").write_text(text.replace("</body>", LOOK + "</body>"))
    picture = folder / f"{width}{'-dark' if dark else ''}.png"
    line = [program, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    line += ["--enable-logging=stderr", f"--window-size={width},{height}"]
    line += [f"--user-data-dir={folder / 'profile'}"]
    line += ["--blink-settings=preferredColorScheme=0"] if dark else []
    address = (folder / "page.html").as_uri()
    run = {"capture_output": True, "text": True, "timeout": 120}
    seen = subprocess.run([*line, "--dump-dom", address], **run)
    shown = subprocess.run([*line, f"--screenshot={picture}", address], **run)
    found = re.search(r"<title>(\{.*?\})</title>", seen.stdout, re.S)
    assert found, seen.stderr
    said = [one for one in (seen.stderr + shown.stderr).splitlines() if "CONSOLE" in one]
    return json.loads(found[1]), said, picture
