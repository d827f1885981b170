// Judges whether driver, CUDA, cuDNN and torch are compatible.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/environment/finding.h"

namespace tundish {

struct WrongVersion {
  std::string package, wanted, installed;  // installed is empty: not installed
};

// What Python reports without importing torch: diagnosis/environment/torch_versions.py
struct TorchVersions {
  std::string python;               // empty: no Python was found
  std::string torch;                // empty: not installed
  std::string cuda;                 // "12.8"; empty: torch was built without CUDA
  std::string cudnn;                // version of the installed package; empty: none
  bool amd = false;                 // torch was built for AMD GPUs
  std::vector<WrongVersion> wrong;  // NVIDIA packages whose version this torch does not accept
};

// Accepts any bytes and skips what it cannot parse.
TorchVersions parse_torch_versions(std::string_view json);

struct DriverState {
  bool has_library = false;  // NVML was loaded
  int fault = 0;             // NVML's result of initialization
  std::string version{};
  int cuda = 0;  // 12040 is 12.4
  std::size_t gpus = 0;
  bool has_device = false;  // /dev/nvidia0 or /proc/driver/nvidia exists, so there is a driver
};

Findings check_software(const DriverState& driver, const TorchVersions& torch);

}  // namespace tundish
