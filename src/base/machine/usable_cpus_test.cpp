#include "base/machine/usable_cpus.h"

#include <doctest/doctest.h>

#include "base/temporary_folder.h"

namespace tundish {
namespace {

struct Machine {
  TemporaryFolder folder;
  explicit Machine(const std::string& membership) { folder.write("proc/self/cgroup", membership); }
  void set(const std::string& file, const std::string& text) {
    folder.write("groups/" + file, text);
  }
  double quota() const { return cpu_quota(folder / "proc", folder / "groups"); }
};

}  // namespace

TEST_CASE("a quota of version 2 is that of the tightest group above") {
  Machine machine("0::/jobs/one/step\n");
  CHECK(machine.quota() == 0);
  machine.set("jobs/one/step/cpu.max", "max 100000\n");
  CHECK(machine.quota() == 0);
  machine.set("jobs/one/cpu.max", "250000 100000\n");
  CHECK(machine.quota() == 2.5);
  machine.set("jobs/cpu.max", "800000 100000\n");
  CHECK(machine.quota() == 2.5);
  machine.set("jobs/one/step/cpu.max", "50000 100000\n");
  CHECK(machine.quota() == 0.5);
}

TEST_CASE("in a container the root of the groups is its own") {
  Machine machine("0::/docker/0123456789\n");
  machine.set("cpu.max", "400000 100000\n");
  CHECK(machine.quota() == 4);
}

TEST_CASE("a quota of version 1 is found beside other controllers") {
  Machine machine("7:cpuset:/jobs\n4:cpu,cpuacct:/jobs/one\n1:name=systemd:/\n");
  machine.set("cpu/jobs/one/cpu.cfs_quota_us", "-1\n");
  machine.set("cpu/jobs/one/cpu.cfs_period_us", "100000\n");
  CHECK(machine.quota() == 0);
  machine.set("cpu/jobs/cpu.cfs_quota_us", "300000\n");
  machine.set("cpu/jobs/cpu.cfs_period_us", "100000\n");
  CHECK(machine.quota() == 3);
}

TEST_CASE("a quota that changes while the process runs is seen") {
  Machine one("1:cpu:/bench\n"), two("0::/bench\n");
  one.set("cpu/bench/cpu.cfs_period_us", "100000\n");
  for (const int cpus : {0, 1, 0, 2}) {
    const std::string quota = std::to_string(cpus * 100000);
    one.set("cpu/bench/cpu.cfs_quota_us", (cpus > 0 ? quota : "-1") + "\n");
    two.set("bench/cpu.max", (cpus > 0 ? quota : "max") + " 100000\n");
    CHECK(one.quota() == cpus);
    CHECK(two.quota() == cpus);
  }
}

TEST_CASE("an invalid text is no quota") {
  for (const char* text : {"", "0:", "no line\n", "0::\n", "0::x\n"}) {
    Machine machine(text);
    machine.set("x/cpu.max", "1 1\n");
    CHECK(machine.quota() == 0);
  }
  Machine machine("0::/a\n");
  for (const char* text : {"", "x y", "100000", "-5 100000", "1 0"}) {
    machine.set("a/cpu.max", text);
    CHECK(machine.quota() == 0);
  }
  CHECK(usable_cpus() >= 1);
}

}  // namespace tundish
