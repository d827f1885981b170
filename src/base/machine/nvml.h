// NVIDIA GPUs by the driver's own library, which is loaded when it is asked for: nothing here needs
// CUDA, and a machine without a driver has no GPUs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tundish {

// What holds a GPU's clocks down, as bits of Gpu::slowdown.
enum class Slowdown : std::uint64_t {
  power_cap = 0x4,
  hardware = 0x8,  // thermal or power brake, which follow as bits of their own
  thermal_software = 0x20,
  thermal_hardware = 0x40,
  power_brake = 0x80,
};

// Every figure that this driver or GPU does not have is empty.
struct Gpu {
  unsigned number = 0;
  std::string name, uuid, bus;  // bus: "0000:3b:00.0", as /sys/bus/pci/devices has it
  std::optional<std::uint64_t> memory_total, memory_used;           // bytes
  std::optional<unsigned> busy, memory_busy;                        // percent of the last sample
  std::optional<unsigned> temperature;                              // Celsius
  std::optional<unsigned> power, power_limit, default_power_limit;  // milliwatts
  std::optional<unsigned> sm_clock, max_sm_clock, memory_clock, max_memory_clock;  // MHz
  std::optional<std::uint64_t> slowdown;                                           // bits: Slowdown
  std::optional<unsigned> pcie_generation, pcie_width;          // now; idle GPUs lower these
  std::optional<unsigned> max_pcie_generation, max_pcie_width;  // of GPU and slot together
  std::optional<unsigned> gpu_pcie_generation;                  // of the GPU alone
  std::optional<bool> ecc, persistence;
  std::optional<std::uint64_t> uncorrected_errors;  // of memory, since the driver was loaded
  std::optional<bool> remap_pending, remap_failed;  // rows of memory that are to be replaced
};

class Nvml {
 public:
  // Never throws. A library that is not there, or that answers with an error, has no GPUs.
  explicit Nvml(const std::string& library = "libnvidia-ml.so.1");
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  bool has_library() const;           // it could be loaded
  int fault() const;                  // of its start: 0 none, otherwise NVML's number
  const std::string& driver() const;  // "550.54.15"; empty: not known
  int cuda() const;                   // of the driver: 12040 is 12.4; 0: not known

  std::vector<Gpu> gpus() const;  // at most 64, all figures; some milliseconds each
  // The figures that change, for a view that is drawn again and again: memory, busy, temperature,
  // power, clocks, slowdown.
  void update(Gpu& gpu) const;

 private:
  struct Library;
  std::unique_ptr<Library> library_;
  int fault_ = 0, cuda_ = 0;
  std::string driver_;
};

// What the number of a failed start means, in a few words.
const char* nvml_fault_text(int fault);

}  // namespace tundish
