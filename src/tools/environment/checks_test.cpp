// Checks synthetic facts against the expected findings.
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "base/temporary_folder.h"
#include "tools/environment/check_cpus.h"
#include "tools/environment/check_gpu.h"
#include "tools/environment/check_memory.h"
#include "tools/environment/check_software.h"
#include "tools/environment/check_storage.h"

namespace tundish {
namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

const Finding& named(const Findings& findings, const std::string& name) {
  for (const Finding& one : findings) {
    if (one.name == name) return one;
  }
  FAIL("there is no finding " << name);
  return findings.at(0);
}

// Returns the level of a finding. A finding has a reason and a fix unless its level is ok.
Level level_of(const Findings& findings, const std::string& name) {
  for (const Finding& one : findings) {
    CHECK_FALSE(one.figure.empty());
    CHECK(one.reason.empty() == (one.level == Level::ok));
    CHECK(one.fix.empty() == (one.level == Level::ok));
  }
  return named(findings, name).level;
}

HostCpus many_cpus(std::uint32_t count) {
  HostCpus out;
  out.online.resize(count);
  std::iota(out.online.begin(), out.online.end(), 0u);
  out.allowed = out.online;
  out.nodes = {{.number = 0, .cpus = out.online}};
  return out;
}

TEST_CASE("a quota below the threads of torch is a problem, and the command sets them") {
  HostCpus cpus = many_cpus(64);
  CHECK(level_of(check_cpus(cpus, {}), "threads") == Level::ok);
  cpus.quota = 4;
  CHECK(level_of(check_cpus(cpus, {}), "threads") == Level::problem);
  CHECK(named(check_cpus(cpus, {}), "threads").fix == "export OMP_NUM_THREADS=4");
  CHECK(level_of(check_cpus(cpus, 4), "threads") == Level::ok);
  CHECK(level_of(check_cpus(cpus, 6), "threads") == Level::warning);
  cpus.quota = 0.5;
  CHECK(level_of(check_cpus(cpus, {}), "usable CPUs") == Level::warning);
  CHECK(level_of(check_cpus({}, {}), "usable CPUs") == Level::ok);
}

TEST_CASE("the command that gives a process more CPUs names those of the machine") {
  const auto fix = [](std::uint32_t machine) {
    HostCpus cpus = many_cpus(machine);
    cpus.allowed = {0};
    return named(check_cpus(cpus, {}), "usable CPUs").fix;
  };
  CHECK(fix(64) == "taskset -c 0-7 python train.py, or a machine with more CPUs");
  CHECK(fix(2) == "taskset -c 0-1 python train.py, or a machine with more CPUs");
  CHECK(fix(1) == "a machine with more CPUs");
}

TEST_CASE("throttling, load, governor and nodes of memory are judged") {
  HostCpus cpus = many_cpus(8);
  cpus.quota_periods = 100;
  cpus.throttled_periods = 2;
  CHECK(level_of(check_cpus(cpus, {}), "throttled by the quota") == Level::ok);
  cpus.throttled_periods = 40;
  CHECK(level_of(check_cpus(cpus, {}), "throttled by the quota") == Level::problem);
  cpus.load = 20;
  CHECK(level_of(check_cpus(cpus, {}), "load") == Level::warning);
  cpus.governors = {{"powersave", 8}};
  cpus.frequency_driver = "intel_pstate";
  CHECK(level_of(check_cpus(cpus, {}), "governor") == Level::ok);
  cpus.frequency_driver = "acpi-cpufreq";
  CHECK(level_of(check_cpus(cpus, {}), "governor") == Level::warning);
  cpus.nodes.push_back({.number = 1, .cpus = {100}});
  cpus.allowed_nodes = {0, 1};
  CHECK(level_of(check_cpus(cpus, {}), "NUMA") == Level::ok);
  cpus.allowed_nodes = {1};
  CHECK(level_of(check_cpus(cpus, {}), "NUMA") == Level::problem);
}

HostMemoryState much_memory() {
  HostMemoryState out;
  out.total = 64 * kGiB;
  out.available = out.left = 60 * kGiB;
  out.shared_bytes = out.shared_free = 32 * kGiB;
  out.locked_limit = 8 << 20;
  out.open_files = 1024;
  return out;
}

TEST_CASE("memory, swap, shared memory and limits are judged") {
  HostMemoryState memory = much_memory();
  for (const Finding& one : check_memory(memory)) CHECK(one.level == Level::ok);
  memory.has_infiniband = true;
  CHECK(level_of(check_memory(memory), "memlock") == Level::warning);
  memory.shared_bytes = memory.shared_free = std::uint64_t{64} << 20;
  CHECK(level_of(check_memory(memory), "/dev/shm") == Level::problem);
  CHECK(named(check_memory(memory), "/dev/shm").fix.find("--shm-size") != std::string::npos);
  memory.shared_bytes.reset();
  CHECK(level_of(check_memory(memory), "/dev/shm") == Level::problem);
  memory.limit = 2 * kGiB;
  memory.left = kGiB;
  CHECK(level_of(check_memory(memory), "left") == Level::warning);
  CHECK(named(check_memory(memory), "left").fix.find("--memory") != std::string::npos);
  memory.left = 0;
  CHECK(level_of(check_memory(memory), "left") == Level::problem);
  memory.killed = 1;
  CHECK(level_of(check_memory(memory), "killed for memory") == Level::warning);
  memory.swap_total = 8 * kGiB;
  CHECK(level_of(check_memory(memory), "swap") == Level::ok);
  memory.available = kGiB;
  CHECK(level_of(check_memory(memory), "swap") == Level::warning);
  memory.open_files = 256;
  CHECK(level_of(check_memory(memory), "open files") == Level::warning);
  CHECK(level_of(check_memory({}), "left") == Level::ok);
}

Gpu good_gpu() {
  Gpu out;
  out.name = "Fake";
  out.memory_total = 80 * kGiB;
  out.memory_used = kGiB;
  out.busy = 0;
  out.slowdown = 1;
  out.power_limit = out.default_power_limit = 700'000;
  out.sm_clock = 345;
  out.max_sm_clock = 1980;
  out.pcie_generation = 1;  // idle
  out.max_pcie_generation = out.gpu_pcie_generation = 5;
  out.pcie_width = out.max_pcie_width = 16;
  out.ecc = out.persistence = true;
  out.uncorrected_errors = 0;
  out.remap_failed = out.remap_pending = false;
  return out;
}

// Returns the level of a finding after one change to a healthy GPU.
template <class Change>
Level gpu_level(const std::string& name, Change change) {
  Gpu gpu = good_gpu();
  change(gpu);
  return level_of(check_gpu(gpu, {}, many_cpus(4)), name);
}

TEST_CASE("an idle GPU is well, although its clock and link are slow") {
  for (const Finding& one : check_gpu(good_gpu(), {.node = 0, .cpus = {0, 1}}, many_cpus(4))) {
    CHECK_MESSAGE(one.level == Level::ok, one.name);
  }
}

TEST_CASE("what is wrong with a GPU is found") {
  CHECK(gpu_level("throttling", [](Gpu& gpu) { gpu.slowdown = 0x48; }) == Level::problem);
  CHECK(gpu_level("throttling", [](Gpu& gpu) { gpu.slowdown = 0x4; }) == Level::ok);
  CHECK(gpu_level("power limit", [](Gpu& gpu) { gpu.power_limit = 400'000; }) == Level::warning);
  CHECK(gpu_level("clocks", [](Gpu& gpu) { gpu.busy = 99; }) == Level::warning);
  CHECK(gpu_level("PCIe", [](Gpu& gpu) { gpu.pcie_width = 4; }) == Level::problem);
  CHECK(gpu_level("PCIe", [](Gpu& gpu) { gpu.busy = 99; }) == Level::warning);
  CHECK(gpu_level("ECC", [](Gpu& gpu) { gpu.uncorrected_errors = 1; }) == Level::problem);
  CHECK(gpu_level("ECC", [](Gpu& gpu) { gpu.remap_failed = true; }) == Level::problem);
  CHECK(gpu_level("model", [](Gpu& gpu) { gpu.memory_used = 40 * kGiB; }) == Level::warning);
  CHECK(gpu_level("persistence mode", [](Gpu& gpu) { gpu.persistence = false; }) == Level::warning);
  const Findings far = check_gpu(good_gpu(), {.node = 1, .cpus = {64, 65}}, many_cpus(4));
  CHECK(level_of(far, "CPUs near it") == Level::warning);
  CHECK(named(far, "CPUs near it").fix.starts_with("numactl --cpunodebind=1 --membind=1"));
  CHECK(check_gpu({}, {}, {}).size() == 1);  // all values unknown
}

TEST_CASE("the place of a GPU is read, of any bytes") {
  const TemporaryFolder folder;
  const SystemRoots roots{.proc = "", .sys = folder.path(), .groups = "", .dev = ""};
  const std::string slot = "bus/pci/devices/0000:3b:00.0/";
  folder.write(slot + "numa_node", "1\n");
  folder.write(slot + "local_cpulist", "32-63\n");
  CHECK(read_gpu_place("0000:3b:00.0", roots).node == 1);
  CHECK(read_gpu_place("0000:3b:00.0", roots).cpus.size() == 32);
  folder.write(slot + "numa_node", "99999999999999\n");
  folder.write(slot + "local_cpulist", "\xff\n");
  CHECK(read_gpu_place("0000:3b:00.0", roots).node == -1);
  CHECK(read_gpu_place("0000:3b:00.0", roots).cpus.empty());
  CHECK(read_gpu_place("", roots).node == -1);
}

TorchVersions torch_for(const std::string& cuda) {
  TorchVersions out;
  out.python = "3.11";
  out.torch = "2.9.0";
  out.cuda = cuda;
  return out;
}

TEST_CASE("driver, CUDA and torch must fit together") {
  const DriverState driver{
      .has_library = true, .fault = 0, .version = "550", .cuda = 12040, .gpus = 1};
  CHECK(level_of(check_software(driver, torch_for("12.4")), "torch") == Level::ok);
  CHECK(level_of(check_software(driver, torch_for("11.8")), "torch") == Level::ok);
  CHECK(level_of(check_software(driver, torch_for("12.8")), "torch") == Level::warning);
  CHECK(level_of(check_software(driver, torch_for("13.0")), "torch") == Level::problem);
  CHECK(level_of(check_software(driver, torch_for("")), "torch") == Level::problem);
  CHECK(named(check_software(driver, torch_for("")), "torch").fix.ends_with("/whl/cu124"));
  CHECK(level_of(check_software({}, torch_for("")), "torch") == Level::ok);
  CHECK(level_of(check_software({}, {}), "NVIDIA driver") == Level::ok);
  DriverState broken{.has_library = false, .has_device = true};
  CHECK(level_of(check_software(broken, {}), "NVIDIA driver") == Level::problem);
  broken = {.has_library = true, .fault = 18};
  CHECK(level_of(check_software(broken, {}), "NVIDIA driver") == Level::problem);
  broken = {.has_library = true, .fault = 0};
  CHECK(level_of(check_software(broken, {}), "NVIDIA driver") == Level::problem);
}

TEST_CASE("packages that torch was not built with are a problem") {
  const TorchVersions torch = parse_torch_versions(
      R"({"python":"3.11","torch":"2.9.0","cuda":"12.8","cudnn":"9.1",)"
      R"("wrong":[{"package":"nvidia-cudnn-cu12","wanted":"9.10.2.21","installed":"9.1"}, 3, {}]})");
  REQUIRE(torch.wrong.size() == 1);
  const Findings findings = check_software({}, torch);
  CHECK(level_of(findings, "cuDNN and CUDA") == Level::problem);
  CHECK(named(findings, "cuDNN and CUDA").fix == "pip install nvidia-cudnn-cu12==9.10.2.21");
}

TEST_CASE("any answer of Python is versions, or none") {
  for (const char* text : {"", "null", "[]", "{", R"({"torch":3,"wrong":{}})", "\xff", "[[[[["}) {
    CHECK(parse_torch_versions(text).torch == "");
  }
  CHECK(parse_torch_versions(R"({"torch":"2; rm -rf /"})").torch == "");
  CHECK(parse_torch_versions(std::string(100'000, '[')).torch == "");
}

StorageState fast_disk() {
  StorageState out{.path = "a", .shown_path = "a"};
  out.mount = Mount{.point = "/", .type = "ext4", .source = "/dev/vda"};
  out.data.files = {{.path = "a", .bytes = kGiB}};
  out.data.bytes = kGiB;
  out.record_bytes = 100'000;
  out.sequential = {.depth = 1, .reads = 1000, .bytes = kGiB, .seconds = 1, .past_cache = true};
  out.random = {{.depth = 1, .reads = 5000, .bytes = kGiB, .seconds = 1, .past_cache = true},
                {.depth = 16, .reads = 50'000, .bytes = kGiB, .seconds = 1, .past_cache = true}};
  return out;
}

TEST_CASE("the storage of a dataset is judged by what was measured") {
  StorageState storage = fast_disk();
  for (const Finding& one : check_storage(storage)) CHECK(one.level == Level::ok);
  const Findings found = check_storage(storage);
  const auto& values = named(found, "random reading").values;
  CHECK(std::find(values.begin(), values.end(), std::pair<std::string, double>{"best_depth", 16}) !=
        values.end());
  storage.mount->type = "nfs4";
  CHECK(level_of(check_storage(storage), "file system") == Level::warning);
  storage.sequential.seconds = 100;
  CHECK(level_of(check_storage(storage), "sequential reading") == Level::warning);
  storage.sequential.reads = 1 << 20;  // small files
  CHECK(level_of(check_storage(storage), "sequential reading") == Level::ok);
  storage.sequential.fault = "Input/output error";
  CHECK(level_of(check_storage(storage), "sequential reading") == Level::problem);
  for (ReadRate& rate : storage.random) rate.reads = 150;
  CHECK(level_of(check_storage(storage), "random reading") == Level::problem);
  storage.record_bytes = 0;
  CHECK(named(check_storage(storage), "random reading").fix.starts_with("tundish pack a"));
  for (ReadRate& rate : storage.random) rate.fault = "Input/output error";
  CHECK(level_of(check_storage(storage), "random reading") == Level::problem);
  storage.measured = false;
  CHECK(check_storage(storage).size() == 2);
  storage.data = {};
  CHECK(level_of(check_storage(storage), "file system") == Level::problem);
}

}  // namespace
}  // namespace tundish
