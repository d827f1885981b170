// The members of a zip archive, including zip64; .npz and .pth files are such archives. Any bytes
// give members that are inside the file without overlap, or a fault.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "data/source/arrays/byte_store.h"

namespace tundish {

struct ZipMember {
  std::string name;          // raw bytes; distinct
  std::uint64_t offset = 0;  // offset of its data in the file
  std::uint64_t packed = 0;  // bytes in the file
  std::uint64_t size = 0;    // unpacked bytes; equals `packed` if stored
  std::uint32_t crc = 0;     // checksum of the unpacked member
  std::uint16_t method = 0;  // 0: stored, 8: deflated
  bool has_crc = true;       // false: its writer computed no checksum

  bool stored() const { return method == 0; }
};

inline constexpr std::uint64_t kMaxZipMembers = 4'000'000;
inline constexpr std::uint64_t kMaxZipDirectory = 512ull << 20;  // bytes

// Returns members in directory order. Faults, with the name of the format: source_damaged;
// format_unsupported for encryption, several disks, other compression methods and exceeded
// limits. Throws Error if the store cannot be read, or interrupted.
std::optional<Fault> read_zip_directory(std::vector<ZipMember>& out, const ByteStore& store,
                                        const char* format);

// Reads the member's bytes, unpacked and checked against the checksum. Subtracts them from `left`,
// the remaining budget in bytes.
std::optional<Fault> read_zip_member(std::vector<std::byte>& out, const ByteStore& store,
                                     const ZipMember& member, const char* format,
                                     std::uint64_t& left);

}  // namespace tundish
