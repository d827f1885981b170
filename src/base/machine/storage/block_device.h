// The disk behind a file system, from /sys/dev/block.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/machine/roots.h"

namespace tundish {

struct BlockDevice {
  std::string name;   // "nvme0n1"
  std::string model;  // empty: unknown
  std::string scheduler;
  std::optional<bool> rotational;  // the kernel's claim; often true for virtual disks
  std::optional<std::uint64_t> read_ahead_kib;
};

// Returns the whole disk if the numbers denote a partition. Returns nothing if there is no such
// device: memory, network and layered file systems have made-up numbers.
std::optional<BlockDevice> read_block_device(std::uint32_t major, std::uint32_t minor,
                                             const SystemRoots& roots = {});

}  // namespace tundish
