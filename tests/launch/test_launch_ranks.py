"""The plan of a run: number of ranks, environment, threads, address."""

import socket

import pytest
from tundish import ArgumentError, Error
from tundish.data.settings.world import cpus_of_rank
from tundish.launch.gpus import Gpu
from tundish.launch.rank_plan import (
    RunTopology,
    check_port,
    count_ranks,
    default_environment,
    free_port,
    plan_ranks,
    split_address,
    torchrun_environment,
)

GPUS = [Gpu(i, "a GPU", f"0000:0{i}:00.0") for i in range(2)]


def test_one_rank_per_gpu_and_one_without():
    assert count_ranks(None, GPUS, None) == 2
    assert count_ranks(None, [], None) == 1
    assert count_ranks(1, GPUS, None) == 1
    assert count_ranks(5, [], None) == 5


def test_more_ranks_than_gpus_are_refused_with_a_remedy():
    with pytest.raises(ArgumentError) as caught:
        count_ranks(3, GPUS, "0,1")
    text = str(caught.value)
    assert text.startswith("3 ranks, but 2 GPUs are visible (CUDA_VISIBLE_DEVICES=0,1)")
    assert "fix: --ranks 2" in text
    with pytest.raises(ArgumentError, match="1 GPU is visible: two ranks"):
        count_ranks(2, GPUS[:1], None)


def test_ranks_are_numbered_over_all_machines():
    place = RunTopology(ranks=4, nodes=3, node=2, address="host0", port=29500)
    values = torchrun_environment(place, 1)
    wanted = {
        "RANK": "9",
        "LOCAL_RANK": "1",
        "WORLD_SIZE": "12",
        "LOCAL_WORLD_SIZE": "4",
        "GROUP_RANK": "2",
        "MASTER_ADDR": "host0",
        "MASTER_PORT": "29500",
    }
    assert wanted.items() <= values.items()


def test_threads_are_cpus_divided_by_ranks_unless_set_by_the_user():
    assert default_environment(16, 3, {})["OMP_NUM_THREADS"] == "5"
    assert default_environment(2, 3, {})["OMP_NUM_THREADS"] == "1"
    given = default_environment(16, 2, {"OMP_NUM_THREADS": "3", "PYTHONUNBUFFERED": "0"})
    assert given["OMP_NUM_THREADS"] == "3"
    assert given["PYTHONUNBUFFERED"] == "0"
    assert given["TUNDISH_CPUS_PER_RANK"] == "8"


def test_gpus_go_to_ranks_in_order():
    place = RunTopology(ranks=2)
    ranks = plan_ranks(place, GPUS, {0, 1, 2, 3}, 4, {}, sys_root="/no such folder")
    assert [one.gpu.index for one in ranks] == [0, 1]
    assert [one.cpus for one in ranks] == [(0, 1), (2, 3)]
    assert ranks[1].as_json()["cpus"] == "2-3"
    assert ranks[1].as_json()["gpu"]["pci"] == "0000:01:00.0"


def test_the_cpus_of_a_rank_are_not_divided_again(monkeypatch):
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "4")
    assert cpus_of_rank(16) == 4
    monkeypatch.setenv("TUNDISH_CPUS_PER_RANK", "6")
    assert cpus_of_rank(16) == 6
    assert cpus_of_rank(3) == 3  # a rank that reduced its own CPUs
    monkeypatch.setenv("TUNDISH_CPUS_PER_RANK", "many")
    assert cpus_of_rank(16) == 4


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("host", ("host", 0)),
        ("host:29500", ("host", 29500)),
        ("10.0.0.1:1", ("10.0.0.1", 1)),
        ("[fe80::1]:29500", ("fe80::1", 29500)),
        ("fe80::1", ("fe80::1", 0)),
    ],
)
def test_addresses_are_split_into_host_and_port(text, parts):
    assert split_address(text) == parts


@pytest.mark.parametrize("text", ["host:", "host:0", "host:port", "host:70000"])
def test_an_invalid_port_is_refused(text):
    with pytest.raises(ArgumentError, match="is not a port"):
        split_address(text)


def test_a_port_in_use_is_named_before_ranks_wait_for_it():
    with socket.socket() as taken:
        taken.bind(("", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(Error, match=rf"port {port}[^\n]*in use\n  fix: use another port"):
            check_port(port)
    check_port(free_port())
