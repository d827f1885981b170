// The disk behind a file system, by /sys/dev/block.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/machine/roots.h"

namespace tundish {

struct BlockDevice {
  std::string name;   // "nvme0n1"
  std::string model;  // empty: not known
  std::string scheduler;
  std::optional<bool> rotational;  // what the kernel believes; virtual disks often claim true
  std::optional<std::uint64_t> read_ahead_kib;
};

// The whole disk when the numbers are a partition's. None when there is no such device: memory,
// network and layered file systems have invented numbers.
std::optional<BlockDevice> read_block_device(std::uint32_t major, std::uint32_t minor,
                                             const SystemRoots& roots = {});

}  // namespace tundish
