// NVIDIA GPUs through the driver's own library, loaded at run time: nothing here needs CUDA, and a
// machine without a driver has no GPUs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tundish {

// Reasons for reduced GPU clocks, as bits of Gpu::slowdown.
enum class Slowdown : std::uint64_t {
  power_cap = 0x4,
  hardware = 0x8,  // thermal or power brake, each of which also has its own bit
  thermal_software = 0x20,
  thermal_hardware = 0x40,
  power_brake = 0x80,
};

// State of one GPU. Values that this driver or GPU does not provide are empty.
struct Gpu {
  unsigned number = 0;
  std::string name, uuid, bus;  // bus: "0000:3b:00.0", as /sys/bus/pci/devices has it
  std::optional<std::uint64_t> memory_total, memory_used;           // bytes
  std::optional<unsigned> busy, memory_busy;                        // percent of the last sample
  std::optional<unsigned> temperature;                              // Celsius
  std::optional<unsigned> power, power_limit, default_power_limit;  // milliwatts
  std::optional<unsigned> sm_clock, max_sm_clock, memory_clock, max_memory_clock;  // MHz
  std::optional<std::uint64_t> slowdown;                                           // bits: Slowdown
  std::optional<unsigned> pcie_generation, pcie_width;          // current; idle GPUs lower these
  std::optional<unsigned> max_pcie_generation, max_pcie_width;  // limit of GPU and slot together
  std::optional<unsigned> gpu_pcie_generation;                  // limit of the GPU alone
  std::optional<bool> ecc, persistence;
  std::optional<std::uint64_t> uncorrected_errors;  // in memory, since the driver was loaded
  std::optional<bool> remap_pending, remap_failed;  // memory rows waiting for replacement
};

class Nvml {
 public:
  // Never throws. A library that is missing or fails has no GPUs.
  explicit Nvml(const std::string& library = "libnvidia-ml.so.1");
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  bool has_library() const;           // whether the library was loaded
  int fault() const;                  // NVML's result of initialization; 0: success
  const std::string& driver() const;  // "550.54.15"; empty: unknown
  int cuda() const;                   // version that the driver supports: 12040 is 12.4; 0: unknown

  std::vector<Gpu> gpus() const;  // at most 64, with all values; milliseconds per GPU
  // Refreshes the values that change, for a view that redraws often: memory, busy, temperature,
  // power, clocks, slowdown.
  void update(Gpu& gpu) const;

 private:
  struct Library;
  std::unique_ptr<Library> library_;
  int fault_ = 0, cuda_ = 0;
  std::string driver_;
};

// Describes the result of a failed initialization in a few words.
const char* nvml_fault_text(int fault);

}  // namespace tundish
