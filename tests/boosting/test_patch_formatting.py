"""Random formatting of one script: its patch applies, keeps the losses, and changes nothing else."""

import random

import pytest
from tundish.boosting.patch import write_patch

from tests.boosting.patch_runs import apply_patch, git, result_of, run_script, survey_script

CHANGES = ["workers=0", "channels_last", "fused", "bf16", "cudnn_benchmark"]
CASES = 60


def _call(draw, name, arguments):
    """Writes a call on one line or several, with a trailing comma, spaces and comments."""
    style = draw.randrange(5)
    comma = draw.choice(["", ",", " , "])
    if style == 0:
        return f"{name}({', '.join(arguments)}{comma.rstrip()})"
    if style == 1:
        return f"{name}( {' ,'.join(arguments)}{comma} )"
    if style == 2:
        inner = ",\n            ".join(arguments)
        return f"{name}(\n            {inner}{comma}  # ünïcode (\n    )"
    if style == 3:
        return (
            f"{name} \\\n    ({', '.join(arguments[:-1])}{',' * bool(arguments[1:])} ({arguments[-1].partition('=')[0]}))"
            if ("=" not in arguments[-1])
            else f"({name}({', '.join(arguments)}))"
        )
    return f"{name}(({arguments[0]}) {''.join(', ' + one for one in arguments[1:])})"


def _script(draw):
    """Returns a script as text, with \\n and four spaces."""
    comment = lambda: draw.choice(["", "", "  # note", "  # 日本 ; )", " #'''"])  # noqa: E731
    blank = lambda: draw.choice(["", "", "\n", "\n\n", "# a comment\n", "    # odd\n"])  # noqa: E731
    join = lambda: draw.choice([comment() + "\n    ", "; ", " ;\\\n  "])  # noqa: E731
    head = draw.choice(
        ['"""Doc."""\nfrom __future__ import annotations\n', "'doc'; import math\n", ""]
    )
    loader = _call(draw, "D.DataLoader", ["data", "batch_size=8"])
    optimizer = _call(draw, "torch.optim.SGD", ["model.parameters()", "lr=0.1"])
    called = _call(draw, "model", ["x"])
    target = draw.choice(["out =", "out: torch.Tensor =", "out  ="])
    loss = draw.choice(["(out, y)", "(\n  out,\n\n y)"])
    return (
        f"{head}import torch{comment()}\nfrom torch import nn; import torch.utils.data as D\n{blank()}"
        "data = D.TensorDataset(torch.randn(32, 3, 8, 8), torch.randint(0, 4, (32,)))\n"
        f"losses = []{comment()}\n{blank()}"
        "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.conv = nn.Conv2d(3, 4, 3); self.head = nn.Linear(144, 4)\n"
        "    def forward(self, x):\n        return self.head(self.conv(x).flatten(1))\n"
        f"{blank()}def main():\n    loader = {loader}{comment()}\n    model = Net(){join()}"
        f"optimizer = {optimizer}{comment()}\n    for x, y in loader:{comment()}\n"
        f"        optimizer.zero_grad(){comment()}\n        {target} {called}{comment()}\n{blank()}"
        f"        loss = nn.functional.cross_entropy{loss}; loss.backward()\n"
        f"        optimizer.step(); losses.append(loss.item())\n{blank()}"
        f"if __name__ == '__main__': main()"
    )


def _bytes(draw, text):
    """Chooses indentation, line endings, the last line and the encoding."""
    unit = draw.choice(["    ", "\t", "  ", "   "])
    lines = []
    for line in text.split("\n"):
        bare = line.lstrip(" ")
        depth, rest = divmod(len(line) - len(bare), 4)
        lines.append(unit * depth + " " * rest + bare)
    ending = draw.choice(["\n", "\n", "\r\n", "\r\n", "\r"])
    text = ending.join(lines) + draw.choice(["", ending])
    mark = draw.choice([b"", b"", b"\xef\xbb\xbf"])
    return mark + text.encode(), ending


@pytest.mark.parametrize("seed", range(CASES))
def test_random_formatting_is_kept(tmp_path, seed):
    draw = random.Random(seed)
    text = _script(draw)
    compile(text, "train.py", "exec")
    data, ending = _bytes(draw, text)
    folder = tmp_path / "project"
    folder.mkdir()
    script = folder / "train.py"
    script.write_bytes(data)
    git(folder, "init", "-q")
    facts, before = survey_script(script)
    patch = write_patch(result_of(script, facts, CHANGES), folder)
    assert [one.reason for one in patch.by_hand] == []
    apply_patch(folder, patch)
    new = script.read_bytes()
    assert new.count(b"\r") == (
        new.count(b"\n") if ending == "\r\n" else new.count(ending.encode()) * (ending == "\r")
    )
    assert run_script(script)["losses"] == pytest.approx(before["losses"], rel=0.05)
    git(folder, "apply", "-R", str(tmp_path / "project.diff"))
    assert script.read_bytes() == data
