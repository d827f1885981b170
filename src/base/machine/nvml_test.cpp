#include "base/machine/nvml.h"

#include <doctest/doctest.h>
#include <stdlib.h>

#include "base/temporary_folder.h"

namespace tundish {
namespace {

// FAKE_NVML_LIBRARY: tests/faults/fake_nvml.c, from cmake/tests.cmake.
struct FakeGpus {
  explicit FakeGpus(const char* settings) { ::setenv("FAKE_NVML", settings, 1); }
  ~FakeGpus() { ::unsetenv("FAKE_NVML"); }
};

TEST_CASE("a GPU's figures come from the driver's library") {
  const FakeGpus fake("count=2,memory_used=0x40000000,power=99000,pcie_width=8,slowdown=0x44");
  const Nvml nvml(FAKE_NVML_LIBRARY);
  CHECK(nvml.has_library());
  CHECK(nvml.fault() == 0);
  CHECK(nvml.driver() == "550.54.15");
  CHECK(nvml.cuda() == 12040);
  const std::vector<Gpu> gpus = nvml.gpus();
  REQUIRE(gpus.size() == 2);
  const Gpu& gpu = gpus[1];
  CHECK(gpu.number == 1);
  CHECK(gpu.name == "NVIDIA Fake 100");
  CHECK(gpu.bus == "0000:3b:00.0");
  CHECK(gpu.memory_used == std::uint64_t{1} << 30);
  CHECK(gpu.busy == 35u);
  CHECK(gpu.memory_busy == 7u);
  CHECK(gpu.temperature == 41u);
  CHECK(gpu.power == 99000u);
  CHECK(gpu.sm_clock == 1980u);
  CHECK(gpu.memory_clock == 2600u);
  CHECK(gpu.pcie_width == 8u);
  CHECK(gpu.slowdown == std::uint64_t{0x44});
  CHECK(gpu.ecc == true);
  CHECK(gpu.uncorrected_errors == std::uint64_t{0});
  CHECK(gpu.remap_failed == false);
  CHECK(gpu.persistence == true);
}

TEST_CASE("what a GPU does not have is empty, and the rest is there") {
  const FakeGpus fake(
      "ecc=none,uncorrected_errors=none,busy=none,slowdown=none,remap_pending=none");
  const std::vector<Gpu> gpus = Nvml(FAKE_NVML_LIBRARY).gpus();
  REQUIRE(gpus.size() == 1);
  CHECK_FALSE(gpus[0].ecc);
  CHECK_FALSE(gpus[0].uncorrected_errors);
  CHECK_FALSE(gpus[0].busy);
  CHECK_FALSE(gpus[0].slowdown);
  CHECK_FALSE(gpus[0].remap_failed);
  CHECK(gpus[0].power_limit == 700000u);
}

TEST_CASE("a library whose texts have no end, and that counts without end, is cut off") {
  const FakeGpus fake("hostile=1,count=4000000000,busy=1000000");
  const Nvml nvml(FAKE_NVML_LIBRARY);
  CHECK(nvml.driver() == std::string(96, '?'));
  const std::vector<Gpu> gpus = nvml.gpus();
  REQUIRE(gpus.size() == 64);
  CHECK(gpus[0].name == std::string(96, '?'));
  CHECK(gpus[0].bus.empty());  // rejected: the bus becomes part of a path
  CHECK(gpus[0].busy == 100u);
}

TEST_CASE("an update changes the figures that change") {
  std::optional<FakeGpus> fake("busy=10,power_limit=500000");
  const Nvml nvml(FAKE_NVML_LIBRARY);
  Gpu gpu = nvml.gpus().at(0);
  fake.emplace("busy=90,temperature=none,power_limit=1");
  nvml.update(gpu);
  CHECK(gpu.busy == 90u);
  CHECK_FALSE(gpu.temperature);
  CHECK(gpu.power_limit == 500000u);
}

TEST_CASE("without a driver, or with one that does not start, there is no GPU") {
  const Nvml absent("libnvidia-ml-of-nobody.so.1");
  CHECK_FALSE(absent.has_library());
  CHECK(absent.gpus().empty());
  const FakeGpus fake("start=18");
  const Nvml other(FAKE_NVML_LIBRARY);
  CHECK(other.has_library());
  CHECK(other.fault() == 18);
  CHECK(other.gpus().empty());
  CHECK(std::string(nvml_fault_text(18)).find("different versions") != std::string::npos);
  const TemporaryFolder folder;
  CHECK_FALSE(Nvml(folder.write("libnvidia-ml.so.1",
                                "\x7f"
                                "ELF and nothing more"))
                  .has_library());
  const Nvml wrong("libm.so.6");  // a library that has none of the functions
  CHECK(wrong.fault() == 13);
  CHECK(wrong.gpus().empty());
}

}  // namespace
}  // namespace tundish
