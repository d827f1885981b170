// For tests: packs as bytes in memory, and packs that lie with correct checksums.
#pragma once

#include <string>
#include <vector>

#include "pack/checksum.h"
#include "pack/format.h"
#include "pack/memory_source.h"
#include "pack/reader.h"
#include "pack/writer.h"
#include "source/temporary_folder.h"

namespace tundish {

using Buffer = std::vector<std::byte>;

inline Buffer bytes_of_pack(const Source& source, const PackOptions& options = {}) {
  const TemporaryFolder folder;
  pack(folder / "test.tnd", source, options);
  Buffer out;
  read_file(out, folder / "test.tnd", std::uint64_t{1} << 32);
  return out;
}

inline std::shared_ptr<const Pack> open_bytes(Bytes bytes) {
  return Pack::open(std::make_unique<MemoryBytes>(bytes, "test.tnd"));
}

// What opening says: none when it succeeds.
inline ErrorCode open_code(Bytes bytes) {
  try {
    open_bytes(bytes);
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode::none;
}

inline std::vector<Error> verify_errors(const Pack& pack) {
  std::vector<Error> errors;
  pack.verify([&](const Error& error) { errors.push_back(error); });
  return errors;
}

// Checksums of head, tail and sections computed anew, after a test changed what they cover.
inline void seal(Buffer& pack) {
  const std::size_t tail = pack.size() - kTailBytes;
  const auto section = [&](std::size_t entry, std::uint32_t piece) {
    const auto offset = load<std::uint64_t>(pack.data() + tail + entry);
    const auto bytes = load<std::uint64_t>(pack.data() + tail + entry + 8);
    if (bytes < kCrcBytes || offset > tail || bytes > tail - offset) return;  // a lie already
    const std::uint64_t payload = bytes - kCrcBytes;
    store(pack.data() + offset + payload,
          piece_crc(kNoRecord, piece, Bytes(pack).subspan(offset, payload)));
  };
  section(24, kMetadataPiece);
  section(72, kIndexPiece);
  store(pack.data() + 60, piece_crc(kNoRecord, kHeadPiece, Bytes(pack).first(60)));
  store(pack.data() + tail + 124, piece_crc(kNoRecord, kTailPiece, Bytes(pack).subspan(tail, 124)));
}

template <std::integral T>
void poke(Buffer& pack, std::size_t offset, T value) {
  store(pack.data() + offset, value);
}

inline std::uint64_t peek_tail(const Buffer& pack, std::size_t entry) {
  return load<std::uint64_t>(pack.data() + pack.size() - kTailBytes + entry);
}

}  // namespace tundish
