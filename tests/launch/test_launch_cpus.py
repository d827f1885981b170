"""CPUs and GPUs assigned to the ranks, on fake machines."""

import random

import pytest
from tundish.launch.cpus import format_cpu_list, group_by_core, parse_cpu_list, share_cores
from tundish.launch.gpus import Gpu, near_cpus, visible_gpus
from tundish.launch.rank_plan import RunTopology, plan_ranks

from tests.helpers.launched import make_sys, write


@pytest.mark.parametrize(
    ("text", "cpus"),
    [("0-3,8\n", [0, 1, 2, 3, 8]), ("5", [5]), ("", []), ("7,0-1", [0, 1, 7])],
)
def test_cpu_lists_are_read_as_the_kernel_writes_them(text, cpus):
    assert parse_cpu_list(text) == cpus
    assert parse_cpu_list(format_cpu_list(cpus)) == cpus


def test_ranges_of_cpus_are_abbreviated():
    assert format_cpu_list([9, 0, 1, 2, 4]) == "0-2,4,9"
    assert format_cpu_list([]) == ""


def test_cpus_of_a_core_stay_together(tmp_path):
    usable = make_sys(tmp_path, [4])
    assert group_by_core(usable, tmp_path) == [(0, 4), (1, 5), (2, 6), (3, 7)]
    assert group_by_core({0, 1, 5}, tmp_path) == [(0,), (1, 5)]  # limited by taskset or a container
    assert group_by_core({0, 1}, tmp_path / "no such folder") == [(0,), (1,)]


def test_without_numa_ranks_get_even_slices_of_whole_cores():
    cores = [(0, 4), (1, 5), (2, 6), (3, 7)]
    assert share_cores(cores, [None, None]) == [[0, 1, 4, 5], [2, 3, 6, 7]]
    assert share_cores(cores, [None] * 3) == [[0, 1, 4, 5], [2, 6], [3, 7]]


def test_fewer_cores_than_ranks_are_shared_by_all():
    assert share_cores([(0, 2), (1, 3)], [None] * 3) == [[0, 1, 2, 3]] * 3


def plan(root, nodes, gpu_nodes, ranks=None, **more):
    usable = make_sys(root, nodes, gpus=gpu_nodes)
    gpus = [
        Gpu(i, "a GPU", f"0000:{i:02x}:00.0", *near_cpus(f"0000:{i:02x}:00.0", root))
        for i in range(len(gpu_nodes))
    ]
    place = RunTopology(ranks or len(gpus))
    return plan_ranks(place, gpus, usable, len(usable), {}, sys_root=root, **more)


def cpus_of(ranks):
    return [format_cpu_list(one.cpus) for one in ranks]


def test_each_rank_is_bound_to_the_node_of_its_gpu(tmp_path):
    ranks = plan(tmp_path, [8, 8], [0, 0, 1, 1])
    assert cpus_of(ranks) == ["0-3,16-19", "4-7,20-23", "8-11,24-27", "12-15,28-31"]
    assert [one.gpu.numa_node for one in ranks] == [0, 0, 1, 1]


def test_gpus_may_be_numbered_across_the_nodes(tmp_path):
    ranks = plan(tmp_path, [4, 4], [1, 0, 1, 0])
    assert cpus_of(ranks) == ["4-5,12-13", "0-1,8-9", "6-7,14-15", "2-3,10-11"]


def test_cpus_of_a_node_without_a_gpu_are_used_too(tmp_path):
    ranks = plan(tmp_path, [4, 4], [0, 0])
    assert cpus_of(ranks) == ["0-1,4-5,8-9,12-13", "2-3,6-7,10-11,14-15"]


def test_gpus_on_one_node_and_another_one_get_equal_shares(tmp_path):
    ranks = plan(tmp_path, [6, 6], [0, 0, 0, 1])
    assert [len(one.cpus) for one in ranks] == [6, 6, 6, 6]
    assert set(ranks[3].cpus) <= {*range(6, 12), *range(18, 24)}
    assert all(len(set(one.cpus) & {*range(6), *range(12, 18)}) == 4 for one in ranks[:3])


def test_one_rank_and_no_affinity_bind_nothing(tmp_path):
    assert plan(tmp_path / "one", [4], [0])[0].cpus is None
    assert [one.cpus for one in plan(tmp_path / "two", [4], [0, 0], bind=False)] == [None, None]


def test_near_cpus_are_unknown_without_node_information(tmp_path):
    make_sys(tmp_path, [4], gpus=[0, 0])
    write(tmp_path / "bus/pci/devices/0000:00:00.0/numa_node", -1)
    assert near_cpus("0000:00:00.0", tmp_path) == (None, None)
    assert near_cpus("0000:55:00.0", tmp_path) == (None, None)


def test_cpus_are_read_from_the_node_if_the_device_has_none(tmp_path):
    make_sys(tmp_path, [2, 2], gpus=[1])
    (tmp_path / "bus/pci/devices/0000:00:00.0/local_cpulist").unlink()
    assert near_cpus("0000:00:00.0", tmp_path) == (1, [2, 3, 6, 7])


def test_every_core_goes_to_one_rank_whatever_the_machine(tmp_path):
    draw = random.Random(0)
    for _ in range(300):
        threads, nodes = draw.choice([1, 2, 4]), draw.randint(1, 4)
        cores = [tuple(range(i * threads, (i + 1) * threads)) for i in range(draw.randint(1, 40))]
        per_node = [
            {cpu for core in cores[node::nodes] for cpu in core} or None for node in range(nodes)
        ]
        local = [draw.choice([*per_node, None]) for _ in range(draw.randint(1, 12))]
        shares = share_cores(cores, local)
        if len(cores) < len(local):
            assert all(len(one) == len(cores) * threads for one in shares)
            continue
        taken = [cpu for share in shares for cpu in share]
        assert sorted(taken) == [cpu for core in cores for cpu in core]
        for share in shares:
            assert all(set(core) <= set(share) or not set(core) & set(share) for core in cores)
        sizes = [len(share) // threads for share in shares]
        assert min(sizes) >= 1
        assert max(sizes) - min(sizes) <= 1


class FakeCuda:
    """A fake libcuda with GPUs of these names."""

    def __init__(self, names, fails=0):
        self.names, self.fails = names, fails

    def cuInit(self, flags):
        return self.fails

    def cuDeviceGetCount(self, out):
        out._obj.value = len(self.names)
        return 0

    def cuDeviceGet(self, out, index):
        out._obj.value = index
        return 0

    def cuDeviceGetName(self, buffer, size, device):
        buffer.value = self.names[device.value].encode()
        return 0

    def cuDeviceGetPCIBusId(self, buffer, size, device):
        buffer.value = b"0000:%02X:00.0" % (10 + device.value)
        return 0

    def cuGetErrorName(self, number, out):
        out._obj.value = {803: b"CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"}.get(number)
        return 0


def test_gpus_are_listed_by_the_driver(tmp_path):
    write(tmp_path / "bus/pci/devices/0000:0b:00.0/numa_node", 1)
    write(tmp_path / "bus/pci/devices/0000:0b:00.0/local_cpulist", "4-7")
    gpus, note = visible_gpus(FakeCuda(["first", "second"]), tmp_path)
    assert note == ""
    assert gpus == [
        Gpu(0, "first", "0000:0a:00.0"),
        Gpu(1, "second", "0000:0b:00.0", 1, (4, 5, 6, 7)),
    ]


def test_a_driver_that_does_not_work_is_reported(tmp_path):
    assert visible_gpus(FakeCuda([], 100), tmp_path) == ([], "")
    gpus, note = visible_gpus(FakeCuda(["one"], 803), tmp_path)
    assert gpus == []
    assert note == "the CUDA driver reports CUDA_ERROR_SYSTEM_DRIVER_MISMATCH: no GPU is used"
    assert "error 999" in visible_gpus(FakeCuda([], 999), tmp_path)[1]
