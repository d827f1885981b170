// The members of a zip archive, also zip64: .npz and .pth files are such archives. Total: any bytes
// give members that lie inside of the file without overlap, or a fault.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "data/source/arrays/byte_store.h"

namespace tundish {

struct ZipMember {
  std::string name;          // raw bytes; no two are equal
  std::uint64_t offset = 0;  // of its data in the file
  std::uint64_t packed = 0;  // bytes there
  std::uint64_t size = 0;    // bytes of the member; `packed` when it is stored
  std::uint32_t crc = 0;     // of the member
  std::uint16_t method = 0;  // 0: stored, 8: deflated

  bool stored() const { return method == 0; }
};

inline constexpr std::uint64_t kMaxZipMembers = 4'000'000;
inline constexpr std::uint64_t kMaxZipDirectory = 512ull << 20;  // bytes

// In the order of the directory. Faults, with the name of the format: source_damaged; for
// encryption, several disks, other methods of compression and more than the limits:
// format_unsupported. Throws Error where the store cannot be read, or interrupted.
std::optional<Fault> read_zip_directory(std::vector<ZipMember>& out, const ByteStore& store,
                                        const char* format);

// The member's bytes, unpacked and checked against their checksum. `left` is the number of bytes
// that may still be taken, and becomes less.
std::optional<Fault> read_zip_member(std::vector<std::byte>& out, const ByteStore& store,
                                     const ZipMember& member, const char* format,
                                     std::uint64_t& left);

}  // namespace tundish
