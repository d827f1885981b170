#include "tools/environment/check_gpu.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

#include "base/machine/cpu_list.h"
#include "base/machine/text_file.h"
#include "base/units.h"

namespace tundish {
namespace {

double watts(unsigned milliwatts) { return milliwatts / 1000.0; }

Finding finding(const Gpu& gpu, const char* name) {
  return {.area = fmt::format("gpu {}", gpu.number), .name = name};
}

Finding model_finding(const Gpu& gpu) {
  Finding out = finding(gpu, "model");
  out.figure = gpu.name.empty() ? "not known" : gpu.name;
  if (gpu.memory_total && gpu.memory_used) {
    out.figure +=
        fmt::format(", {} of {} used", bytes_text(*gpu.memory_used), bytes_text(*gpu.memory_total));
    out.values = {{"memory_total_bytes", static_cast<double>(*gpu.memory_total)},
                  {"memory_used_bytes", static_cast<double>(*gpu.memory_used)}};
    if (*gpu.memory_used > *gpu.memory_total / 10) {
      out.level = Level::warning;
      out.reason = "another process uses this GPU";
      out.fix = "nvidia-smi --query-compute-apps=pid,used_memory,name --format=csv";
    }
  }
  return out;
}

Finding slowdown_finding(const Gpu& gpu) {
  struct Row {
    Slowdown bit;
    Level level;
    const char* text;
    const char* fix;
  };
  constexpr std::array kRows = {
      Row{Slowdown::power_brake, Level::problem, "the power supply asked for less",
          "the server's power supplies: ipmitool sdr type \"Power Supply\""},
      Row{Slowdown::thermal_hardware, Level::problem, "too hot, slowed down by hardware",
          "the server's fans and air flow: nvidia-smi -q -d TEMPERATURE"},
      Row{Slowdown::thermal_software, Level::problem, "too hot, slowed down by the driver",
          "the server's fans and air flow: nvidia-smi -q -d TEMPERATURE"},
      Row{Slowdown::hardware, Level::problem, "slowed down by hardware",
          "nvidia-smi -q -d PERFORMANCE"},
      Row{Slowdown::power_cap, Level::ok, "at its power limit, as a busy GPU often is", ""},
  };
  Finding out = finding(gpu, "throttling");
  out.values = {{"bits", static_cast<double>(*gpu.slowdown)}};
  out.figure = "none now";
  if (gpu.temperature) {
    out.figure += fmt::format(", {} degrees Celsius", *gpu.temperature);
    out.values.emplace_back("celsius", *gpu.temperature);
  }
  for (const Row& row : kRows) {
    if (!(*gpu.slowdown & static_cast<std::uint64_t>(row.bit))) continue;
    out.level = row.level;
    out.figure = row.text;
    if (gpu.temperature) out.figure += fmt::format(", {} degrees Celsius", *gpu.temperature);
    if (row.level != Level::ok) out.reason = "clocks are lower than the GPU could run";
    out.fix = row.fix;
    break;
  }
  return out;
}

Finding power_finding(const Gpu& gpu) {
  Finding out = finding(gpu, "power limit");
  out.values = {{"limit_watts", watts(*gpu.power_limit)}};
  out.figure = fmt::format("{:.0f} W", watts(*gpu.power_limit));
  if (!gpu.default_power_limit) return out;
  out.values.emplace_back("default_watts", watts(*gpu.default_power_limit));
  out.figure += fmt::format(" of {:.0f} W", watts(*gpu.default_power_limit));
  if (watts(*gpu.power_limit) >= 0.98 * watts(*gpu.default_power_limit)) return out;
  out.level = Level::warning;
  out.reason = "somebody lowered the limit: a busy GPU runs slower";
  out.fix =
      fmt::format("sudo nvidia-smi -i {} -pl {:.0f}", gpu.number, watts(*gpu.default_power_limit));
  return out;
}

Finding clock_finding(const Gpu& gpu) {
  Finding out = finding(gpu, "clocks");
  out.values = {{"sm_mhz", *gpu.sm_clock}, {"max_sm_mhz", *gpu.max_sm_clock}};
  out.figure = fmt::format("{} of {} MHz", *gpu.sm_clock, *gpu.max_sm_clock);
  if (gpu.busy) {
    out.figure += fmt::format(", {} % busy", *gpu.busy);
    out.values.emplace_back("busy_percent", *gpu.busy);
  }
  // An idle GPU lowers its clocks to save power.
  const bool slow = *gpu.sm_clock < *gpu.max_sm_clock * 0.6;
  if (!gpu.busy || *gpu.busy < 80 || !slow) return out;
  out.level = Level::warning;
  out.reason = "the GPU is busy, and its clock is far below the highest";
  out.fix = fmt::format("sudo nvidia-smi -i {} --reset-gpu-clocks", gpu.number);
  return out;
}

Finding link_finding(const Gpu& gpu) {
  Finding out = finding(gpu, "PCIe");
  out.values = {{"generation", gpu.pcie_generation.value_or(0)},
                {"width", *gpu.pcie_width},
                {"max_generation", *gpu.max_pcie_generation},
                {"max_width", *gpu.max_pcie_width}};
  out.figure = fmt::format("generation {}, x{} lanes", *gpu.max_pcie_generation, *gpu.pcie_width);
  if (gpu.pcie_generation && *gpu.pcie_generation < *gpu.max_pcie_generation) {
    out.figure += fmt::format(" (generation {} while idle)", *gpu.pcie_generation);
  }
  if (*gpu.pcie_width < *gpu.max_pcie_width) {
    out.level = *gpu.pcie_width * 2 <= *gpu.max_pcie_width ? Level::problem : Level::warning;
    out.reason =
        fmt::format("the GPU has x{} lanes: copies to it take longer", *gpu.max_pcie_width);
    out.fix = "sudo lspci -vv | grep -A60 NVIDIA | grep LnkSta, then another slot or riser";
  } else if (gpu.pcie_generation && gpu.busy && *gpu.busy >= 50 &&
             *gpu.pcie_generation < *gpu.max_pcie_generation) {
    out.level = Level::warning;
    out.reason = "the link is slow although the GPU is busy";
    out.fix = "sudo lspci -vv | grep -A60 NVIDIA | grep LnkSta; the BIOS may limit the slot";
  } else if (gpu.gpu_pcie_generation && *gpu.gpu_pcie_generation > *gpu.max_pcie_generation) {
    out.figure += fmt::format(", the GPU itself has {}", *gpu.gpu_pcie_generation);
  }
  return out;
}

Finding errors_finding(const Gpu& gpu) {
  Finding out = finding(gpu, "ECC");
  out.figure = !gpu.ecc ? "not offered" : *gpu.ecc ? "on" : "off";
  if (gpu.ecc) out.values.emplace_back("on", *gpu.ecc ? 1 : 0);
  const std::uint64_t errors = gpu.uncorrected_errors.value_or(0);
  if (gpu.uncorrected_errors) {
    out.figure += fmt::format(", {} uncorrected errors", errors);
    out.values.emplace_back("uncorrected", static_cast<double>(errors));
  }
  if (gpu.remap_failed.value_or(false)) {
    out.level = Level::problem;
    out.reason = "damaged memory could not be replaced by spare rows";
    out.fix = "the GPU has to be exchanged: nvidia-smi -q -d ROW_REMAPPER";
  } else if (gpu.remap_pending.value_or(false) || errors > 0) {
    out.level = Level::problem;
    out.reason = "memory was damaged; a reset replaces it";
    out.fix = fmt::format("sudo nvidia-smi -i {} --gpu-reset, while nothing uses it", gpu.number);
  }
  return out;
}

Finding affinity_finding(const Gpu& gpu, const GpuPlace& place, const HostCpus& cpus) {
  Finding out = finding(gpu, "CPUs near it");
  const std::size_t near = shared_cpus(cpus.allowed, place.cpus);
  out.values = {{"node", place.node}, {"near", static_cast<double>(near)}};
  out.figure = fmt::format("{} of {} usable ones", near, cpus.allowed.size());
  if (place.node >= 0) out.figure += fmt::format(", node {}", place.node);
  if (near > 0) return out;
  out.level = Level::warning;
  out.reason = "every copy to this GPU crosses the link between two sockets";
  out.fix =
      place.node >= 0
          ? fmt::format(
                "numactl --cpunodebind={0} --membind={0} python train.py, or tundish run train.py",
                place.node)
          : "tundish run train.py";
  return out;
}

Finding persistence_finding(const Gpu& gpu) {
  Finding out = finding(gpu, "persistence mode");
  out.figure = *gpu.persistence ? "on" : "off";
  out.values = {{"on", *gpu.persistence ? 1 : 0}};
  if (*gpu.persistence) return out;
  out.level = Level::warning;
  out.reason = "the driver starts the GPU anew for each process: seconds at the start of a job";
  out.fix = "sudo nvidia-smi -pm 1";
  return out;
}

}  // namespace

GpuPlace read_gpu_place(const std::string& bus, const SystemRoots& roots) {
  GpuPlace out;
  if (bus.empty()) return out;
  const std::string folder = roots.sys + "/bus/pci/devices/" + bus;
  const std::string node(trimmed(read_text(folder + "/numa_node").value_or("")));
  int number = -1;  // the kernel's value on a machine with one node
  const auto [end, fault] = std::from_chars(node.data(), node.data() + node.size(), number);
  if (fault == std::errc{} && end == node.data() + node.size() && number >= 0) out.node = number;
  const std::optional<std::string> cpus = read_text(folder + "/local_cpulist");
  if (cpus) out.cpus = parse_cpu_list(*cpus).value_or(std::vector<std::uint32_t>{});
  return out;
}

Findings check_gpu(const Gpu& gpu, const GpuPlace& place, const HostCpus& cpus) {
  Findings out = {model_finding(gpu)};
  if (gpu.slowdown) out.push_back(slowdown_finding(gpu));
  if (gpu.power_limit) out.push_back(power_finding(gpu));
  if (gpu.sm_clock && gpu.max_sm_clock) out.push_back(clock_finding(gpu));
  if (gpu.pcie_width && gpu.max_pcie_width && gpu.max_pcie_generation) {
    out.push_back(link_finding(gpu));
  }
  if (gpu.ecc || gpu.uncorrected_errors || gpu.remap_failed) out.push_back(errors_finding(gpu));
  if (!place.cpus.empty() && !cpus.allowed.empty()) {
    out.push_back(affinity_finding(gpu, place, cpus));
  }
  if (gpu.persistence) out.push_back(persistence_finding(gpu));
  return out;
}

}  // namespace tundish
