// All findings about the machine on which a training run would execute.
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

// Checks software, GPUs, CPUs and memory; check_storage() covers storage. Takes milliseconds, plus
// the time that the driver needs to activate a GPU.
Findings check_environment(const EnvironmentQuestion& question);

}  // namespace tundish
