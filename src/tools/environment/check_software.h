// Judges whether driver, CUDA, cuDNN and torch fit together.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/environment/finding.h"

namespace tundish {

struct WrongVersion {
  std::string package, wanted, installed;  // installed is empty: not installed
};

// What Python says, without importing torch: python/tundish/diagnosis/environment/torch_versions.py
struct TorchVersions {
  std::string python;               // empty: no Python was found
  std::string torch;                // empty: not installed
  std::string cuda;                 // "12.8"; empty: torch is built without CUDA
  std::string cudnn;                // of the installed package; empty: none
  bool amd = false;                 // torch is built for AMD's GPUs
  std::vector<WrongVersion> wrong;  // NVIDIA's packages that are not what this torch asks for
};

// Any bytes: what is not understood is left out.
TorchVersions parse_torch_versions(std::string_view json);

struct DriverState {
  bool has_library = false;  // NVML could be loaded
  int fault = 0;             // of its start
  std::string version{};
  int cuda = 0;  // 12040 is 12.4
  std::size_t gpus = 0;
  bool has_device = false;  // /dev/nvidia0, /proc/driver/nvidia: there is a driver
};

Findings check_software(const DriverState& driver, const TorchVersions& torch);

}  // namespace tundish
