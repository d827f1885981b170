"""scale_learning_rate: the printed lines set the rates and the warmup that they mention."""

import pytest
import torch
from tundish import ArgumentError
from tundish.tuning.learning_rate import rule_of, scale_learning_rate, warmup_steps_of


def parameters():
    return [torch.nn.Parameter(torch.zeros(2)) for _ in range(2)]


def run(lines, optimizer):
    names = {"torch": torch, "optimizer": optimizer}
    exec("\n".join(lines), names)
    return names


def rates(optimizer):
    return [group["lr"] for group in optimizer.param_groups]


def step(optimizer, warmup):
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            parameter.grad = torch.zeros_like(parameter)
    optimizer.step()
    warmup.step()


def test_sgd_is_scaled_linearly_and_warms_up_from_the_old_rate_to_the_new():
    optimizer = torch.optim.SGD(parameters(), lr=0.1, momentum=0.9)
    warmup = run(scale_learning_rate(optimizer, 256, 1024, warmup_steps=10), optimizer)["warmup"]
    seen = [rates(optimizer)[0]]
    for _ in range(12):
        step(optimizer, warmup)
        seen += rates(optimizer)
    assert seen[0] == pytest.approx(0.1)
    assert seen[5] == pytest.approx(0.25)
    assert seen[10:] == pytest.approx([0.4] * 3)


def test_adam_is_scaled_by_the_square_root():
    optimizer = torch.optim.AdamW(parameters(), lr=1e-3)
    run(scale_learning_rate(optimizer, 256, 1024, warmup_steps=0), optimizer)
    assert rates(optimizer) == pytest.approx([2e-3])


def test_every_group_keeps_its_ratio():
    first, second = parameters()
    groups = [{"params": [first], "lr": 0.1}, {"params": [second], "lr": 0.01}]
    optimizer = torch.optim.SGD(groups, lr=1.0)
    run(scale_learning_rate(optimizer, 100, 300, warmup_steps=0), optimizer)
    assert rates(optimizer) == pytest.approx([0.3, 0.03])


def test_a_scheduler_that_was_there_before_does_not_bring_the_old_rate_back():
    optimizer = torch.optim.SGD(parameters(), lr=0.1)
    torch.optim.lr_scheduler.StepLR(optimizer, 10)  # sets initial_lr
    warmup = run(scale_learning_rate(optimizer, 8, 16, warmup_steps=2), optimizer)["warmup"]
    for _ in range(3):
        step(optimizer, warmup)
    assert rates(optimizer) == pytest.approx([0.2])
    torch.optim.lr_scheduler.LambdaLR(optimizer, lambda _: 0.5)  # starts from initial_lr
    assert rates(optimizer) == pytest.approx([0.1])


@pytest.mark.parametrize("new", [1024, 64])
def test_a_rate_in_a_tensor_keeps_its_memory(new):
    first, second = parameters()
    groups = [{"params": [first], "lr": torch.tensor(0.1)}, {"params": [second], "lr": 0.2}]
    optimizer = torch.optim.SGD(groups)
    tensor = rates(optimizer)[0]
    names = run(scale_learning_rate(optimizer, 256, new, warmup_steps=10), optimizer)
    for _ in range(12 if new > 256 else 0):
        step(optimizer, names["warmup"])
    assert rates(optimizer)[0] is tensor
    assert [float(rate) for rate in rates(optimizer)] == pytest.approx(
        [0.1 * new / 256, 0.2 * new / 256]
    )


def test_the_commented_line_joins_warmup_and_the_users_scheduler():
    optimizer = torch.optim.SGD(parameters(), lr=0.1)
    lines = scale_learning_rate(optimizer, 8, 32, warmup_steps=4)
    names = run(lines, optimizer)
    names["scheduler"] = torch.optim.lr_scheduler.StepLR(optimizer, 3, gamma=0.5)
    exec(lines[-1].removeprefix("# "), names)
    seen = []
    for _ in range(8):
        step(optimizer, names["scheduler"])
        seen += rates(optimizer)
    assert seen[:3] == pytest.approx([0.175, 0.25, 0.325])
    assert seen[3:] == pytest.approx([0.4, 0.4, 0.4, 0.2, 0.2])


def test_a_smaller_batch_gets_a_smaller_rate_at_once():
    optimizer = torch.optim.SGD(parameters(), lr=0.4)
    names = run(scale_learning_rate(optimizer, 1024, 256), optimizer)
    assert "warmup" not in names
    assert rates(optimizer) == pytest.approx([0.1])


def test_nothing_is_changed_before_the_lines_run():
    optimizer = torch.optim.SGD(parameters(), lr=0.1)
    scale_learning_rate(optimizer, 1, 2)
    assert rates(optimizer) == [0.1]
    assert "initial_lr" not in optimizer.param_groups[0]


def test_the_warmup_is_five_epochs():
    assert warmup_steps_of(1024, samples_per_epoch=10_240) == 50
    optimizer = torch.optim.SGD(parameters(), lr=0.1)
    lines = scale_learning_rate(optimizer, 256, 1024, samples_per_epoch=10_240)
    assert any("total_iters=50" in line for line in lines)


def test_the_rule_follows_the_optimizer_also_of_other_packages():
    class Lamb(torch.optim.Adam):
        pass

    class Mystery(torch.optim.Optimizer):
        def __init__(self, parameters):
            super().__init__(parameters, {"lr": 0.1})

    assert rule_of(torch.optim.SGD(parameters(), 0.1)) == "linear"
    for kind in (torch.optim.Adam, torch.optim.AdamW, torch.optim.RMSprop, Lamb):
        assert rule_of(kind(parameters())) == "square root"
    mystery = Mystery(parameters())
    assert rule_of(mystery) == "square root"
    assert any("no known rule" in line for line in scale_learning_rate(mystery, 8, 16))
    run(scale_learning_rate(mystery, 8, 16, rule="linear", warmup_steps=0), mystery)
    assert rates(mystery) == pytest.approx([0.2])


def test_a_large_change_carries_a_warning():
    optimizer = torch.optim.SGD(parameters(), lr=0.1)
    assert any("beyond 8x" in line for line in scale_learning_rate(optimizer, 256, 8192))
    assert not any("beyond 8x" in line for line in scale_learning_rate(optimizer, 256, 512))


@pytest.mark.parametrize(
    ("old", "new", "words", "text"),
    [
        (0, 8, {}, "old must be at least 1"),
        (8, -1, {}, "new must be at least 1"),
        (8, 8, {"rule": "cubic"}, "rule must be"),
        (8, 16, {"warmup_steps": -1}, "warmup_steps"),
    ],
)
def test_invalid_arguments_are_refused(old, new, words, text):
    with pytest.raises(ArgumentError, match=text):
        scale_learning_rate(torch.optim.SGD(parameters(), lr=0.1), old, new, **words)
