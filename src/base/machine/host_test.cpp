// Reads CPUs, memory and disks from synthetic trees of files.
#include <doctest/doctest.h>

#include <filesystem>

#include "base/machine/host_cpus.h"
#include "base/machine/host_memory_state.h"
#include "base/machine/storage/block_device.h"
#include "base/temporary_folder.h"
#include "base/testing.h"

namespace tundish {
namespace {

struct Machine {
  TemporaryFolder folder;
  SystemRoots roots{.proc = folder / "proc",
                    .sys = folder / "sys",
                    .groups = folder / "sys/fs/cgroup",
                    .dev = folder / "dev"};
  void write(const std::string& name, const std::string& text) { folder.write(name, text); }
};

TEST_CASE("CPUs, quota, throttling, governors and nodes are read") {
  Machine machine;
  machine.write("sys/devices/system/cpu/online", "0-63\n");
  machine.write("proc/self/status", "Name:\tx\nCpus_allowed_list:\t0-7\nMems_allowed_list:\t0-1\n");
  machine.write("proc/self/cgroup", "0::/job\n");
  machine.write("sys/fs/cgroup/job/cpu.max", "400000 100000\n");
  machine.write("sys/fs/cgroup/job/cpu.stat", "usage_usec 5\nnr_periods 200\nnr_throttled 50\n");
  machine.write("proc/loadavg", "12.50 9 8 1/200 777\n");
  for (const char* cpu : {"0", "1"}) {
    machine.write("sys/devices/system/cpu/cpu" + std::string(cpu) + "/cpufreq/scaling_governor",
                  "powersave\n");
    machine.write("sys/devices/system/cpu/cpu" + std::string(cpu) + "/cpufreq/scaling_driver",
                  "acpi-cpufreq\n");
  }
  machine.write("sys/devices/system/node/online", "0-1\n");
  machine.write("sys/devices/system/node/node0/cpulist", "0-31\n");
  machine.write("sys/devices/system/node/node1/cpulist", "32-63\n");
  const HostCpus cpus = read_host_cpus(machine.roots);
  CHECK(cpus.online.size() == 64);
  CHECK(cpus.allowed.size() == 8);
  CHECK(cpus.quota == 4);
  CHECK(cpus.usable() == 4);
  CHECK(cpus.quota_periods == 200);
  CHECK(cpus.throttled_periods == 50);
  CHECK(cpus.load == 12.5);
  CHECK(cpus.governors.at("powersave") == 2);
  CHECK(cpus.frequency_driver == "acpi-cpufreq");
  REQUIRE(cpus.nodes.size() == 2);
  CHECK(cpus.nodes[1].cpus.front() == 32);
  CHECK(cpus.allowed_nodes.size() == 2);
}

TEST_CASE("throttling in version 1 is read, and the affinity counts without a quota") {
  Machine machine;
  machine.write("proc/self/cgroup", "3:cpu,cpuacct:/a\n");
  machine.write("sys/fs/cgroup/cpu/a/cpu.stat", "nr_periods 10\nnr_throttled 99\n");
  machine.write("proc/self/status", "Cpus_allowed_list:\t1,3\n");
  const HostCpus cpus = read_host_cpus(machine.roots);
  CHECK(cpus.throttled_periods == 10);  // capped at the number of periods
  CHECK(cpus.usable() == 2);
}

TEST_CASE("memory, its limit, shared memory and the limits of a process are read") {
  Machine machine;
  machine.write("proc/meminfo",
                "MemTotal: 1000 kB\nMemAvailable: 500 kB\nSwapTotal: 100 kB\nSwapFree: 40 kB\n");
  machine.write("proc/self/cgroup", "0::/job\n");
  machine.write("sys/fs/cgroup/job/memory.max", "409600\n");
  machine.write("sys/fs/cgroup/job/memory.current", "102400\n");
  machine.write("sys/fs/cgroup/job/memory.events", "low 0\noom 2\noom_kill 2\n");
  machine.write("proc/self/limits",
                "Limit                     Soft Limit           Hard Limit           Units\n"
                "Max open files            1024                 524288               files\n"
                "Max locked memory         unlimited            unlimited            bytes\n");
  machine.write("dev/shm/x", "");
  machine.write("sys/class/infiniband/mlx5_0/node_type", "1\n");
  const HostMemoryState memory = read_host_memory(machine.roots);
  CHECK(memory.total == 1'024'000);
  CHECK(memory.available == 512'000);
  CHECK(memory.swap_free == 40'960);
  CHECK(memory.limit == 409'600);
  CHECK(memory.left == 307'200);
  CHECK(memory.killed == 2);
  CHECK(memory.shared_bytes.value_or(0) > 0);
  CHECK(memory.locked_limit == kNoMemoryLimit);
  CHECK(memory.open_files == std::uint64_t{1024});
  CHECK(memory.has_infiniband);
}

TEST_CASE("version 1 writes a large number when there is no limit") {
  Machine machine;
  machine.write("proc/self/cgroup", "4:memory:/\n");
  machine.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  machine.write("sys/fs/cgroup/memory/memory.oom_control", "under_oom 0\noom_kill 1\n");
  const HostMemoryState memory = read_host_memory(machine.roots);
  CHECK(memory.limit == kNoMemoryLimit);
  CHECK(memory.killed == 1);
  CHECK_FALSE(memory.shared_bytes);
}

TEST_CASE("a partition leads to its disk") {
  Machine machine;
  machine.write("sys/devices/disk/sdb/queue/rotational", "1\n");
  machine.write("sys/devices/disk/sdb/queue/scheduler", "none [mq-deadline] kyber\n");
  machine.write("sys/devices/disk/sdb/queue/read_ahead_kb", "128\n");
  machine.write("sys/devices/disk/sdb/device/model", "Samsung SSD \n");
  machine.write("sys/devices/disk/sdb/sdb1/partition", "1\n");
  machine.write("sys/dev/block/readme", "");
  std::filesystem::create_symlink("../../devices/disk/sdb/sdb1",
                                  machine.roots.sys + "/dev/block/8:17");
  const auto disk = read_block_device(8, 17, machine.roots);
  REQUIRE(disk);
  CHECK(disk->name == "sdb");
  CHECK(disk->model == "Samsung SSD");
  CHECK(disk->scheduler == "mq-deadline");
  CHECK(disk->rotational == true);
  CHECK(disk->read_ahead_kib == std::uint64_t{128});
  CHECK_FALSE(read_block_device(0, 40, machine.roots));
}

TEST_CASE("trees of any bytes give figures or none") {
  const std::vector<std::string> names = {"proc/meminfo",
                                          "proc/self/cgroup",
                                          "proc/self/status",
                                          "proc/self/limits",
                                          "proc/loadavg",
                                          "sys/devices/system/cpu/online",
                                          "sys/devices/system/node/online",
                                          "sys/fs/cgroup/cpu.max",
                                          "sys/fs/cgroup/cpu.stat",
                                          "sys/fs/cgroup/memory.max",
                                          "sys/fs/cgroup/memory.events"};
  const std::vector<std::string> pieces = {"0::/",
                                           "\n",
                                           "MemTotal:",
                                           "MemAvailable:",
                                           " ",
                                           "max",
                                           "18446744073709551615",
                                           "0-65535",
                                           "Cpus_allowed_list:",
                                           "Mems_allowed_list:",
                                           "nr_periods",
                                           "nr_throttled",
                                           "-",
                                           "Max open files",
                                           "oom_kill",
                                           std::string(1, '\0'),
                                           "\xff",
                                           "../"};
  Random random({.seed = test_seed()}, 2);
  Machine machine;
  for (int i = 0; i < 60; ++i) {
    for (const std::string& name : names) {
      std::string text = name == "proc/self/cgroup" ? "0::/\n" : "";
      for (int n = between(random, 0, 12); n > 0; --n) text += pieces[random.below(pieces.size())];
      machine.write(name, text);
    }
    const HostCpus cpus = read_host_cpus(machine.roots);
    CHECK(cpus.usable() >= 0);
    CHECK(cpus.throttled_periods <= cpus.quota_periods);
    CHECK(cpus.nodes.size() <= 256);
    const HostMemoryState memory = read_host_memory(machine.roots);
    CHECK(memory.swap_free <= memory.swap_total);
  }
}

}  // namespace
}  // namespace tundish
