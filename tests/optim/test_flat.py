"""tundish.optim.flatten: training with flat parameters is bitwise equal to training without."""

import pytest
import torch
import tundish
from tundish.optim._flat.flat_buffer import ALIGNMENT

from tests.helpers.flat_models import (
    ADAMW,
    SGD,
    batches,
    flattened,
    loss_of,
    net,
    plain,
    same,
    train,
    values,
)

KINDS = {
    "sgd loop": (SGD, {"foreach": False}),
    "sgd foreach": (SGD, {"foreach": True}),
    "sgd nesterov": (SGD, {"nesterov": True}),
    "adamw loop": (ADAMW, {"foreach": False}),
    "adamw foreach": (ADAMW, {"foreach": True}),
    "adamw amsgrad": (ADAMW, {"amsgrad": True}),
}


@pytest.mark.parametrize("set_to_none", [True, False])
@pytest.mark.parametrize("case", KINDS)
def test_twenty_steps_are_bitwise_equal(case, set_to_none):
    kind, options = KINDS[case]
    model, _, optimizer = flattened(kind=kind, **options)
    trained = train(model, optimizer, lambda: optimizer.zero_grad(set_to_none=set_to_none))
    assert same(trained, plain(kind=kind, **options))


@pytest.mark.parametrize("kind", [SGD, ADAMW])
def test_fused_is_bitwise_equal_where_no_tensor_ends_within_a_vector(kind):
    """torch's fused CPU kernels round differently in the last elements of a tensor."""

    def make():
        return torch.nn.Sequential(torch.nn.Linear(10, 32), torch.nn.Linear(32, 64))

    model, _, optimizer = flattened(make, kind, fused=True)
    start = values(model)
    other = make()
    other.load_state_dict(start)
    expected = train(other, kind[0](other.parameters(), fused=True, **kind[1]))
    assert same(train(model, optimizer), expected)


@pytest.mark.parametrize("kind", [SGD, ADAMW])
def test_fused_differs_by_rounding_only(kind):
    model, _, optimizer = flattened(kind=kind, fused=True)
    trained, expected = train(model, optimizer), plain(kind=kind, fused=True)
    for name, value in expected.items():
        torch.testing.assert_close(trained[name], value, rtol=0, atol=1e-6)


@pytest.mark.parametrize("when", ["before the forward pass", "before the backward pass"])
def test_zero_grad_of_the_model_works_wherever_it_is_called(when):
    model, _, optimizer = flattened()
    for batch in batches():
        if when == "before the forward pass":
            model.zero_grad()
        loss = loss_of(model, batch)
        if when == "before the backward pass":
            model.zero_grad()
        loss.backward()
        optimizer.step()
    assert same(values(model), plain())


@pytest.mark.parametrize("clear", ["of the optimizer", "of the model"])
def test_an_optimizer_over_the_groups_is_watched_from_its_first_step_on(clear):
    model = net()
    flat = tundish.optim.flatten(model)
    optimizer = SGD[0](flat.groups(), **SGD[1])
    own = optimizer if clear == "of the optimizer" else model
    assert same(train(model, optimizer, lambda: own.zero_grad()), plain())


def test_an_optimizer_over_the_original_tensors_works_unchanged():
    model = net()
    flat = tundish.optim.flatten(model)
    assert same(train(model, SGD[0](model.parameters(), **SGD[1])), plain())
    assert torch.equal(flat.buffers[0].gradient[:330].view(33, 10), model[0].weight.grad)


def test_every_tensor_is_aligned_and_the_gaps_stay_zero():
    model, flat, optimizer = flattened(kind=ADAMW)
    train(model, optimizer)
    (buffer,) = flat.buffers
    assert buffer.names == [name for name, _ in model.named_parameters()]
    inside = torch.zeros(buffer.parameter.numel(), dtype=torch.bool)
    for (begin, end), parameter in zip(buffer.ranges, model.parameters(), strict=True):
        assert begin % ALIGNMENT == 0
        assert end - begin == parameter.numel()
        assert parameter.data_ptr() == buffer.parameter[begin:].data_ptr()
        assert parameter.grad.data_ptr() == buffer.gradient[begin:].data_ptr()
        inside[begin:end] = True
    assert not inside.all()
    assert not buffer.parameter[~inside].any()
    assert not buffer.gradient[~inside].any()


def decay_groups(model):
    return [
        {"params": [p for p in model.parameters() if p.ndim > 1], "weight_decay": 0.1},
        {"params": [p for p in model.parameters() if p.ndim < 2], "weight_decay": 0.0, "lr": 0.05},
    ]


def test_groups_keep_their_options_and_follow_a_scheduler():
    model, flat, optimizer = flattened(groups=decay_groups)
    other = net()
    expected = SGD[0](decay_groups(other), **SGD[1])
    for one, own in ((model, optimizer), (other, expected)):
        schedule = torch.optim.lr_scheduler.ExponentialLR(own, 0.9)
        for _ in range(3):
            train(one, own, steps=4)
            schedule.step()
    assert same(values(model), values(other))
    assert len(flat.buffers) == 1
    assert [group["weight_decay"] for group in optimizer.param_groups] == [0.1, 0.0]
    assert len(flat.parameters(torch.float32)) == 2
    assert flat.parameters(torch.float64) == []


def test_two_optimizers_share_one_flat_model():
    model, other = net(), net()
    flat = tundish.optim.flatten(model, decay_groups(model))
    ours = [flat.watch(torch.optim.SGD([group], lr=0.1)) for group in flat.groups()]
    theirs = [torch.optim.SGD([group], lr=0.1) for group in decay_groups(other)]
    for one, optimizers in ((model, ours), (other, theirs)):
        for number, batch in enumerate(batches()):
            optimizers[number % 2].zero_grad()  # the other optimizer keeps accumulating
            loss_of(one, batch).backward()
            optimizers[number % 2].step()
    assert same(values(model), values(other))


def test_one_optimizer_may_train_two_flat_models():
    models, others = [net(), net(seed=2)], [net(), net(seed=2)]
    flats = [tundish.optim.flatten(model) for model in models]
    optimizer = torch.optim.SGD([p for flat in flats for p in flat.parameters()], lr=0.1)
    expected = torch.optim.SGD([p for model in others for p in model.parameters()], lr=0.1)
    for pair, own in ((models, optimizer), (others, expected)):
        for number, batch in enumerate(batches()):
            own.zero_grad(set_to_none=number % 2 == 0)
            (loss_of(pair[0], batch) + loss_of(pair[1], batch)).backward()
            own.step()
    for model, other in zip(models, others, strict=True):
        assert same(values(model), values(other))


def test_an_optimizer_may_have_other_tensors_too():
    def run(model, extra, optimizer):
        for batch in batches():
            optimizer.zero_grad()
            (loss_of(model, batch) * extra).backward()
            optimizer.step()
        return {**values(model), "extra": extra.detach()}

    model, other = net(), net()
    extras = [torch.nn.Parameter(torch.ones(())) for _ in range(2)]
    flat = tundish.optim.flatten(model)
    optimizer = flat.watch(torch.optim.SGD([*flat.parameters(), extras[0]], lr=0.01))
    expected = torch.optim.SGD([*other.parameters(), extras[1]], lr=0.01)
    assert same(run(model, extras[0], optimizer), run(other, extras[1], expected))


def test_two_dtypes_are_two_buffers():
    def make():
        model = net()
        model.append(torch.nn.Linear(7, 3, bias=False, dtype=torch.float64))
        model[4].register_forward_hook(lambda *given: given[2].double())
        return model

    model, flat, optimizer = flattened(make)
    assert [buffer.dtype for buffer in flat.buffers] == [torch.float32, torch.float64]
    assert len(flat.groups()) == 1
    assert same(train(model, optimizer), plain(make))
    squares = sum(p.grad.double().square().sum() for p in model.parameters())
    torch.testing.assert_close(flat.gradient_norm().double(), squares.sqrt())


def test_channels_last_stays_channels_last():
    def make():
        torch.manual_seed(0)
        layers = [torch.nn.Unflatten(1, (10, 1, 1)), torch.nn.Conv2d(10, 12, 3, padding=1)]
        return torch.nn.Sequential(*layers).to(memory_format=torch.channels_last)

    strides = make()[1].weight.stride()
    model, _, optimizer = flattened(make)
    assert same(train(model, optimizer), plain(make))
    assert model[1].weight.stride() == model[1].weight.grad.stride() == strides
    assert strides != (90, 9, 3, 1)


def test_tied_weights_are_in_the_buffer_once():
    def make():
        model = net(10)
        model[2].weight = model[0].weight
        return model

    model, flat, optimizer = flattened(make)
    assert same(train(model, optimizer), plain(make))
    assert model[2].weight is model[0].weight
    assert flat.buffers[0].names.count("0.weight") == 1
    assert "2.weight" not in flat.buffers[0].names


def test_frozen_parts_stay_where_they_are():
    def make():
        model = net()
        model[2].requires_grad_(False)
        return model

    model = make()
    place = model[2].weight.data_ptr()
    flat = tundish.optim.flatten(model)
    assert same(train(model, flat.optimizer(SGD[0], **SGD[1])), plain(make))
    assert model[2].weight.data_ptr() == place
    assert model[2].weight.grad is None
    assert not {"2.weight", "2.bias"} & set(flat.buffers[0].names)


def test_micro_batches_accumulate_gradients():
    def run(model, optimizer):
        data = batches()
        for first, second in zip(data[::2], data[1::2], strict=True):
            optimizer.zero_grad()
            loss_of(model, first).backward()
            loss_of(model, second).backward()
            optimizer.step()
        return values(model)

    model, _, optimizer = flattened()
    other = net()
    assert same(run(model, optimizer), run(other, SGD[0](other.parameters(), **SGD[1])))


@pytest.mark.parametrize("clear", ["of the optimizer", "of the model"])
def test_a_grad_scaler_unscales_what_the_step_uses(clear):
    def run(model, optimizer):
        scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
        for batch in batches():
            (optimizer if clear == "of the optimizer" else model).zero_grad()
            scaler.scale(loss_of(model, batch)).backward()
            scaler.unscale_(optimizer)
            scaler.step(optimizer)
            scaler.update()
        return values(model)

    model, _, optimizer = flattened()
    other = net()
    assert same(run(model, optimizer), run(other, SGD[0](other.parameters(), **SGD[1])))


def test_the_gradient_norm_and_clipping_equal_torchs():
    model, flat, optimizer = flattened(groups=decay_groups)
    assert flat.gradient_norm() == 0
    loss_of(model, batches(1)[0]).backward()
    expected = torch.linalg.vector_norm(torch.cat([p.grad.flatten() for p in model.parameters()]))
    torch.testing.assert_close(flat.gradient_norm(), expected)
    torch.nn.utils.clip_grad_norm_(flat.parameters(), expected.item() / 2)
    torch.testing.assert_close(flat.gradient_norm(), expected / 2)
    before = values(model)
    optimizer.step()
    moved = before["0.weight"] - model[0].weight.detach()
    torch.testing.assert_close(moved, 0.1 * (model[0].weight.grad + 0.1 * before["0.weight"]))


def test_the_norm_of_16_bit_gradients_does_not_overflow():
    model = torch.nn.Linear(64, 64, dtype=torch.float16)
    flat = tundish.optim.flatten(model)
    for parameter in model.parameters():
        parameter.grad = torch.full_like(parameter, 2000.0)
    flat.gather()
    assert flat.gradient_norm().item() == pytest.approx(2000 * (64 * 65) ** 0.5)


def test_a_step_without_a_backward_pass_changes_nothing():
    model, flat, optimizer = flattened(kind=ADAMW, weight_decay=0.5)
    for clear in (optimizer.zero_grad, model.zero_grad):
        train(model, optimizer, clear, steps=2)
        before = values(model)
        clear()
        optimizer.step()
        assert same(values(model), before)
    assert flat.gradient_norm() == 0


def test_a_parameter_without_a_gradient_gets_a_zero_gradient():
    model, flat, optimizer = flattened()
    train(model, optimizer, steps=2)
    optimizer.zero_grad()
    model[0](batches(1)[0]).sum().backward()
    assert model[0].weight.grad.any()
    assert not model[4].weight.grad.any()
    assert flat.parameters()[0].grad is not None


def test_zero_grad_of_the_flat_parameters_is_a_memset():
    model, flat, optimizer = flattened()
    assert same(train(model, optimizer, flat.zero_grad), plain())
    gradient = model[0].weight.grad
    assert gradient.any()
    flat.zero_grad()
    assert model[0].weight.grad is gradient
    assert not flat.buffers[0].gradient.any()


def test_gradients_from_before_flatten_are_kept():
    model = net()
    loss_of(model, batches(1)[0]).backward()
    before = [parameter.grad.clone() for parameter in model.parameters()]
    flat = tundish.optim.flatten(model)
    assert all(torch.equal(p.grad, g) for p, g in zip(model.parameters(), before, strict=True))
    assert flat.gradient_norm() > 0


def test_gradients_of_parameters_without_a_hook_are_clipped():
    def build():
        torch.manual_seed(0)
        parts = {"backbone": (4, 4), "a": (4, 2), "b": (4, 2)}
        return torch.nn.ModuleDict({name: torch.nn.Linear(*sizes) for name, sizes in parts.items()})

    def loss(model):  # reaches neither the first nor the last parameter
        with torch.no_grad():
            hidden = model["backbone"](torch.full((8, 4), 100.0))
        return model["a"](hidden).square().mean()

    plain, model = build(), build()
    flat = tundish.optim.flatten(model)
    ours, theirs = flat.optimizer(torch.optim.SGD, lr=0.1), torch.optim.SGD(plain.parameters(), 0.1)
    for _ in range(3):
        ours.zero_grad(), theirs.zero_grad()
        loss(model).backward(), loss(plain).backward()
        norm = torch.nn.utils.clip_grad_norm_(plain.parameters(), 1.0)
        assert norm > 1
        assert torch.allclose(flat.gradient_norm(), norm)
        torch.nn.utils.clip_grad_norm_(flat.parameters(), 1.0)
        ours.step(), theirs.step()
    for a, b in zip(model.parameters(), plain.parameters()):
        assert torch.allclose(a, b)
    kept = flat.parameters()  # from before the backward pass
    ours.zero_grad()
    loss(model).backward()
    torch.nn.utils.clip_grad_norm_(kept, 1.0)
    with pytest.warns(UserWarning, match="clipping a kept list of flat parameters had no effect"):
        ours.step()
    ours.zero_grad()
    loss(model).backward()
    assert torch.nn.utils.clip_grad_norm_(kept, 1.0) > 0  # every parameter has a hook now
