// All findings about the machine that a training run would have.
#pragma once

#include <optional>
#include <string>

#include "base/machine/roots.h"
#include "tools/environment/check_software.h"
#include "tools/environment/finding.h"

namespace tundish {

struct EnvironmentQuestion {
  SystemRoots roots{};
  std::string nvml = "libnvidia-ml.so.1";
  TorchVersions torch{};
  std::optional<std::uint64_t> omp_threads{};
};

// Software, GPUs, CPUs, memory; storage is check_storage()'s. Some milliseconds, and what the
// driver takes to wake a GPU.
Findings check_environment(const EnvironmentQuestion& question);

}  // namespace tundish
