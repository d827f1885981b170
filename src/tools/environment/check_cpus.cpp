#include "tools/environment/check_cpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/machine/cpu_list.h"

namespace tundish {
namespace {

Finding usable_cpus_finding(const HostCpus& cpus) {
  Finding out{.area = "cpu", .name = "usable CPUs"};
  const double usable = cpus.usable();
  const std::size_t all = std::max(cpus.online.size(), cpus.allowed.size());
  out.values = {{"usable", usable},
                {"machine", static_cast<double>(all)},
                {"allowed", static_cast<double>(cpus.allowed.size())},
                {"quota", cpus.quota}};
  if (usable == 0) {
    out.figure = "not known";
    return out;
  }
  out.figure = fmt::format("{:.4g} of {}", usable, all);
  if (cpus.quota > 0)
    out.figure += fmt::format(" (quota of the control group: {:.4g})", cpus.quota);
  if (usable < 2) {
    out.level = Level::warning;
    out.reason = "one CPU both trains and loads: loading cannot run ahead of the step";
    out.fix = "a machine with more CPUs";
    if (cpus.quota > 0) {
      out.fix = "docker run --cpus=8 ..., or resources.limits.cpu in Kubernetes";
    } else if (all >= 2) {
      const std::size_t last = std::min<std::size_t>(all, 8) - 1;
      out.fix = fmt::format("taskset -c 0-{} python train.py, or a machine with more CPUs", last);
    }
  }
  return out;
}

// torch and OpenMP start one thread per visible CPU and ignore quotas.
Finding threads_finding(const HostCpus& cpus, std::optional<std::uint64_t> omp_threads) {
  Finding out{.area = "cpu", .name = "threads"};
  const double usable = cpus.usable();
  const auto seen =
      static_cast<double>(cpus.allowed.empty() ? cpus.online.size() : cpus.allowed.size());
  const double threads = omp_threads ? static_cast<double>(*omp_threads) : seen;
  out.values = {{"threads", threads}, {"usable", usable}};
  out.figure = omp_threads ? fmt::format("OMP_NUM_THREADS={}", *omp_threads)
                           : fmt::format("{:.0f} by default, OMP_NUM_THREADS is not set", seen);
  if (usable == 0 || threads <= std::ceil(usable)) return out;
  out.level = threads >= 2 * usable ? Level::problem : Level::warning;
  out.reason = fmt::format(
      "{:.0f} threads of torch share {:.4g} CPUs: the kernel stops all of them when the quota is "
      "used up",
      threads, usable);
  if (cpus.quota == 0) {
    out.reason = fmt::format("{:.0f} threads of torch share {:.4g} CPUs", threads, usable);
  }
  out.fix = fmt::format("export OMP_NUM_THREADS={:.0f}", std::max(1.0, std::floor(usable)));
  return out;
}

Finding throttled_finding(const HostCpus& cpus) {
  Finding out{.area = "cpu", .name = "throttled by the quota"};
  const double share = static_cast<double>(cpus.throttled_periods) /
                       static_cast<double>(std::max<std::uint64_t>(1, cpus.quota_periods));
  out.values = {{"share", share}, {"periods", static_cast<double>(cpus.quota_periods)}};
  out.figure = fmt::format("{:.1f} % of the periods since the group was made", 100 * share);
  if (share < 0.05) return out;
  out.level = share < 0.25 ? Level::warning : Level::problem;
  out.reason = "the control group used up its CPUs and was stopped until the next period";
  out.fix = "fewer threads and workers, or docker run --cpus=N with a larger N";
  return out;
}

Finding load_finding(const HostCpus& cpus) {
  Finding out{.area = "cpu", .name = "load"};
  const std::size_t all = std::max(cpus.online.size(), cpus.allowed.size());
  out.values = {{"tasks", cpus.load}, {"machine", static_cast<double>(all)}};
  out.figure = fmt::format("{:.4g} tasks on {} CPUs in the last minute", cpus.load, all);
  if (all == 0 || cpus.load <= 1.25 * static_cast<double>(all)) return out;
  out.level = Level::warning;
  out.reason = "other programs use the CPUs: measurements are unsteady, and loading is slower";
  out.fix = "top -o %CPU";
  return out;
}

Finding governor_finding(const HostCpus& cpus) {
  Finding out{.area = "cpu", .name = "governor"};
  if (cpus.governors.empty()) {
    out.figure = "set by the host of this virtual machine, or fixed";
    return out;
  }
  for (const auto& [name, count] : cpus.governors) {
    out.figure += fmt::format("{}{} on {} CPUs", out.figure.empty() ? "" : ", ", name, count);
    out.values.emplace_back(name, count);
  }
  if (!cpus.frequency_driver.empty()) out.figure += fmt::format(" ({})", cpus.frequency_driver);
  // These drivers raise the clock on their own under "powersave".
  const bool by_hardware = cpus.frequency_driver == "intel_pstate" ||
                           cpus.frequency_driver == "amd-pstate-epp" ||
                           cpus.frequency_driver == "amd_pstate_epp";
  if (!cpus.governors.contains("powersave") || by_hardware) return out;
  out.level = Level::warning;
  out.reason = "powersave keeps the CPUs at their lowest clock";
  out.fix = "sudo cpupower frequency-set -g performance";
  return out;
}

Finding nodes_finding(const HostCpus& cpus) {
  Finding out{.area = "cpu", .name = "NUMA"};
  std::size_t used = 0;
  for (const MemoryNode& node : cpus.nodes) used += shared_cpus(cpus.allowed, node.cpus) > 0;
  out.values = {{"nodes", static_cast<double>(cpus.nodes.size())},
                {"used", static_cast<double>(used)}};
  out.figure = fmt::format("{} node{}, CPUs of {} may be used", cpus.nodes.size(),
                           cpus.nodes.size() == 1 ? "" : "s", used);
  const bool memory_elsewhere =
      !cpus.allowed_nodes.empty() && used > 0 &&
      std::none_of(cpus.nodes.begin(), cpus.nodes.end(), [&](const MemoryNode& node) {
        return shared_cpus({node.number}, cpus.allowed_nodes) > 0 &&
               shared_cpus(cpus.allowed, node.cpus) > 0;
      });
  if (!memory_elsewhere) return out;
  out.level = Level::problem;
  out.reason = "the CPUs and the memory that this process may use are on different nodes";
  out.fix = "numactl --cpunodebind=N --membind=N python train.py, or cpuset.mems of the group";
  return out;
}

}  // namespace

Findings check_cpus(const HostCpus& cpus, std::optional<std::uint64_t> omp_threads) {
  Findings out = {usable_cpus_finding(cpus), threads_finding(cpus, omp_threads)};
  if (cpus.quota_periods > 0) out.push_back(throttled_finding(cpus));
  out.push_back(load_finding(cpus));
  out.push_back(governor_finding(cpus));
  if (!cpus.nodes.empty()) out.push_back(nodes_finding(cpus));
  return out;
}

}  // namespace tundish
