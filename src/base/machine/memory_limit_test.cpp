#include "base/machine/memory_limit.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace tundish {
namespace {

namespace fs = std::filesystem;

// A synthetic /proc and /sys/fs/cgroup.
struct System {
  System() { REQUIRE(::mkdtemp(name.data()) != nullptr); }
  ~System() { fs::remove_all(name); }
  std::string name = (fs::temp_directory_path() / "tundish-test-XXXXXX").string();

  void write(const std::string& file, const std::string& text) {
    const fs::path path = fs::path(name) / file;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  std::uint64_t left() const { return memory_left(name + "/proc", name + "/sys"); }
};

constexpr std::uint64_t kMiB = 1 << 20;

TEST_CASE("without control groups the memory of the machine counts") {
  System system;
  system.write("proc/meminfo", "MemTotal: 4096 kB\nMemAvailable:   2048 kB\n");
  CHECK(system.left() == 2 * kMiB);
}

TEST_CASE("the tightest of the groups above a process counts, in version 2") {
  System system;
  system.write("proc/meminfo", "MemAvailable: 1048576 kB\n");
  system.write("proc/self/cgroup", "0::/job/step\n");
  system.write("sys/job/memory.max", "104857600\n");
  system.write("sys/job/memory.current", "20971520\n");
  system.write("sys/job/memory.stat", "anon 10485760\ninactive_file 10485760\n");
  system.write("sys/job/step/memory.max", "max\n");
  system.write("sys/job/step/memory.current", "20971520\n");
  CHECK(system.left() == 90 * kMiB);
}

TEST_CASE("a limit of version 1 counts, also when only the root can be seen") {
  System system;
  system.write("proc/meminfo", "MemAvailable: 1048576 kB\n");
  system.write("proc/self/cgroup", "5:cpu:/docker/abc\n4:memory:/docker/abc\n0::/\n");
  system.write("sys/memory/memory.limit_in_bytes", "52428800\n");
  system.write("sys/memory/memory.usage_in_bytes", "10485760\n");
  system.write("sys/memory/memory.stat", "total_inactive_file 0\n");
  CHECK(system.left() == 40 * kMiB);
}

TEST_CASE("a group that is over its limit leaves nothing") {
  System system;
  system.write("proc/meminfo", "MemAvailable: 1048576 kB\n");
  system.write("proc/self/cgroup", "0::/\n");
  system.write("sys/memory.max", "1000\n");
  system.write("sys/memory.current", "2000\n");
  CHECK(system.left() == 0);
}

TEST_CASE("the memory of this machine is not 0") { CHECK(memory_left() > 0); }

}  // namespace
}  // namespace tundish
