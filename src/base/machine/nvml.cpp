#include "base/machine/nvml.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>

namespace tundish {
namespace {

// The part of NVML's interface that is used here. The layout is unchanged since driver 418.
using Device = void*;
struct PciInfo {
  char old_bus[16];
  unsigned domain, bus, device, identity, subsystem;
  char bus_text[32];
};
struct MemoryInfo {
  unsigned long long total, free, used;
};
struct Utilization {
  unsigned gpu, memory;
};
constexpr unsigned kTextBytes = 96, kMaxGpus = 64;
constexpr unsigned kSmClock = 1, kMemoryClock = 2;
constexpr unsigned kUncorrected = 1, kSinceDriver = 0;

// Truncates texts at the end of the buffer, even if the library wrote no terminator.
template <std::size_t kBytes>
std::string text_of(const char (&text)[kBytes]) {
  std::string out(text, ::strnlen(text, kBytes));
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7e) c = '?';
  }
  return out;
}

}  // namespace

struct Nvml::Library {
  explicit Library(const std::string& name)
      : handle(::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {}
  ~Library() {
    if (started) call("nvmlShutdown");
    if (handle) ::dlclose(handle);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  // Returns NVML's result: 0 is success, 13 means that this driver lacks the function.
  template <class... Arguments>
  int call(const char* name, Arguments... arguments) const {
    void* function = handle ? ::dlsym(handle, name) : nullptr;
    if (!function) return 13;
    return reinterpret_cast<int (*)(Arguments...)>(function)(arguments...);
  }

  // Queries one value of a GPU; empty unless the library returns it.
  template <class Value = unsigned, class... More>
  std::optional<Value> ask(const char* name, Device device, More... more) const {
    Value value{};
    if (call(name, device, more..., &value) != 0) return std::nullopt;
    return value;
  }

  std::optional<bool> ask_flag(const char* name, Device device) const {
    const std::optional<unsigned> value = ask(name, device);
    return value ? std::optional<bool>(*value != 0) : std::nullopt;
  }

  std::string ask_text(const char* name, Device device) const {
    char text[kTextBytes] = {};
    return call(name, device, static_cast<char*>(text), kTextBytes) == 0 ? text_of(text) : "";
  }

  std::optional<Device> device(unsigned number) const {
    Device device = nullptr;
    if (call("nvmlDeviceGetHandleByIndex_v2", number, &device) != 0) return std::nullopt;
    return device;
  }

  void read_changing(Gpu& out, Device device) const;
  void read_fixed(Gpu& out, Device device) const;
  void read_link(Gpu& out, Device device) const;
  void read_errors(Gpu& out, Device device) const;

  void* handle;
  bool started = false;
};

void Nvml::Library::read_changing(Gpu& out, Device device) const {
  const auto memory = ask<MemoryInfo>("nvmlDeviceGetMemoryInfo", device);
  out.memory_total = memory ? std::optional<std::uint64_t>(memory->total) : std::nullopt;
  out.memory_used = memory ? std::optional<std::uint64_t>(memory->used) : std::nullopt;
  const auto busy = ask<Utilization>("nvmlDeviceGetUtilizationRates", device);
  out.busy = busy ? std::optional<unsigned>(std::min(100u, busy->gpu)) : std::nullopt;
  out.memory_busy = busy ? std::optional<unsigned>(std::min(100u, busy->memory)) : std::nullopt;
  out.temperature = ask("nvmlDeviceGetTemperature", device, 0u);
  out.power = ask("nvmlDeviceGetPowerUsage", device);
  out.sm_clock = ask("nvmlDeviceGetClockInfo", device, kSmClock);
  out.memory_clock = ask("nvmlDeviceGetClockInfo", device, kMemoryClock);
  const auto slowdown =
      ask<unsigned long long>("nvmlDeviceGetCurrentClocksThrottleReasons", device);
  out.slowdown = slowdown ? std::optional<std::uint64_t>(*slowdown) : std::nullopt;
}

void Nvml::Library::read_fixed(Gpu& out, Device device) const {
  out.name = ask_text("nvmlDeviceGetName", device);
  out.uuid = ask_text("nvmlDeviceGetUUID", device);
  const auto pci = ask<PciInfo>("nvmlDeviceGetPciInfo_v3", device);
  if (pci) {
    // "00000000:3B:00.0"; /sys writes four digits of the domain, in lower case.
    std::string bus = text_of(pci->bus_text);
    if (bus.size() > 8 && bus.starts_with("0000") && bus[8] == ':') bus.erase(0, 4);
    for (char& c : bus) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    // The bus becomes part of a path, so only these characters are accepted.
    if (bus.find_first_not_of("0123456789abcdef:.") == bus.npos) out.bus = bus;
  }
  out.power_limit = ask("nvmlDeviceGetPowerManagementLimit", device);
  out.default_power_limit = ask("nvmlDeviceGetPowerManagementDefaultLimit", device);
  out.max_sm_clock = ask("nvmlDeviceGetMaxClockInfo", device, kSmClock);
  out.max_memory_clock = ask("nvmlDeviceGetMaxClockInfo", device, kMemoryClock);
  out.persistence = ask_flag("nvmlDeviceGetPersistenceMode", device);
}

void Nvml::Library::read_link(Gpu& out, Device device) const {
  out.pcie_generation = ask("nvmlDeviceGetCurrPcieLinkGeneration", device);
  out.pcie_width = ask("nvmlDeviceGetCurrPcieLinkWidth", device);
  out.max_pcie_generation = ask("nvmlDeviceGetMaxPcieLinkGeneration", device);
  out.gpu_pcie_generation = ask("nvmlDeviceGetGpuMaxPcieLinkGeneration", device);
  out.max_pcie_width = ask("nvmlDeviceGetMaxPcieLinkWidth", device);
}

void Nvml::Library::read_errors(Gpu& out, Device device) const {
  unsigned now = 0, next = 0;
  if (call("nvmlDeviceGetEccMode", device, &now, &next) == 0) out.ecc = now != 0;
  const auto errors =
      ask<unsigned long long>("nvmlDeviceGetTotalEccErrors", device, kUncorrected, kSinceDriver);
  out.uncorrected_errors = errors ? std::optional<std::uint64_t>(*errors) : std::nullopt;
  unsigned corrected = 0, uncorrected = 0, pending = 0, failed = 0;
  if (call("nvmlDeviceGetRemappedRows", device, &corrected, &uncorrected, &pending, &failed) == 0) {
    out.remap_pending = pending != 0;
    out.remap_failed = failed != 0;
  }
}

Nvml::Nvml(const std::string& library) : library_(std::make_unique<Library>(library)) {
  if (!library_->handle) return;
  fault_ = library_->call("nvmlInit_v2");
  if (fault_ != 0) return;
  library_->started = true;
  char text[kTextBytes] = {};
  if (library_->call("nvmlSystemGetDriverVersion", static_cast<char*>(text), kTextBytes) == 0) {
    driver_ = text_of(text);
  }
  int version = 0;
  if (library_->call("nvmlSystemGetCudaDriverVersion_v2", &version) == 0 && version > 0) {
    cuda_ = version;
  }
}

Nvml::~Nvml() = default;

bool Nvml::has_library() const { return library_->handle != nullptr; }
int Nvml::fault() const { return fault_; }
const std::string& Nvml::driver() const { return driver_; }
int Nvml::cuda() const { return cuda_; }

std::vector<Gpu> Nvml::gpus() const {
  std::vector<Gpu> out;
  unsigned count = 0;
  if (!library_->started || library_->call("nvmlDeviceGetCount_v2", &count) != 0) return out;
  for (unsigned number = 0; number < std::min(count, kMaxGpus); ++number) {
    const std::optional<Device> device = library_->device(number);
    if (!device) continue;
    Gpu gpu;
    gpu.number = number;
    library_->read_fixed(gpu, *device);
    library_->read_changing(gpu, *device);
    library_->read_link(gpu, *device);
    library_->read_errors(gpu, *device);
    out.push_back(std::move(gpu));
  }
  return out;
}

void Nvml::update(Gpu& gpu) const {
  const std::optional<Device> device = library_->device(gpu.number);
  if (device) library_->read_changing(gpu, *device);
}

const char* nvml_fault_text(int fault) {
  struct Row {
    int number;
    const char* text;
  };
  constexpr std::array kRows = {
      Row{4, "no permission to use the driver"},
      Row{9, "the driver is not loaded"},
      Row{12, "the driver's library is damaged"},
      Row{15, "a GPU has fallen off the bus"},
      Row{18, "the driver's library and the loaded driver have different versions"},
  };
  for (const Row& row : kRows) {
    if (row.number == fault) return row.text;
  }
  return "the driver's library does not start";
}

}  // namespace tundish
