// Judges one GPU: slowdowns, power, clocks, its link, its errors, and the CPUs near it.
#pragma once

#include "base/machine/host_cpus.h"
#include "base/machine/nvml.h"
#include "base/machine/roots.h"
#include "tools/environment/finding.h"

namespace tundish {

// Location of a GPU, from the entry of its slot in /sys.
struct GpuPlace {
  int node = -1;                    // -1: unknown, or the machine has one node
  std::vector<std::uint32_t> cpus;  // close to the GPU; empty: unknown
};
GpuPlace read_gpu_place(const std::string& bus, const SystemRoots& roots = {});

Findings check_gpu(const Gpu& gpu, const GpuPlace& place, const HostCpus& cpus);

}  // namespace tundish
