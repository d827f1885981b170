// For tests: packs as bytes in memory, and packs with wrong values and correct checksums.
#pragma once

#include <string>
#include <vector>

#include "base/temporary_folder.h"
#include "data/pack/reader.h"
#include "data/pack/seal.h"
#include "data/pack/write/writer.h"
#include "data/source/memory_source.h"

namespace tundish {

inline FileBytes bytes_of_pack(const Source& source, const PackOptions& options = {}) {
  const TemporaryFolder folder;
  pack(folder / "test.tnd", source, options);
  FileBytes out;
  read_file(out, folder / "test.tnd", std::uint64_t{1} << 32);
  return out;
}

// Returns the error code of opening the bytes; none on success.
inline ErrorCode open_code(Bytes bytes) {
  try {
    open_bytes(bytes);
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode::none;
}

inline std::vector<std::string> keys_of(const Source& source) {
  std::vector<std::string> keys;
  for (std::uint64_t i = 0; i < source.count(); ++i) keys.push_back(source.key(i));
  return keys;
}

inline std::vector<Error> verify_errors(const Pack& pack) {
  std::vector<Error> errors;
  pack.verify([&](const Error& error) { errors.push_back(error); });
  return errors;
}

template <std::integral T>
void poke(FileBytes& pack, std::size_t offset, T value) {
  store(pack.data() + offset, value);
}

inline std::uint64_t peek_tail(const FileBytes& pack, std::size_t entry) {
  return load<std::uint64_t>(pack.data() + pack.size() - kTailBytes + entry);
}

}  // namespace tundish
