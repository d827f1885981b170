#include "data/source/arrays/unpack.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "data/source/decompress.h"
#include "data/source/format.h"

namespace tundish {

SharedStore open_unpacked(const std::string& path, const char* format, std::uint64_t& left,
                          const DeclaredBytes& declared) {
  const File file = File::open(path);
  std::array<std::byte, 16> first;
  const Compression compression = sniff_compression(Bytes(first).first(file.read_at(first, 0)));
  if (compression == Compression::none) return std::make_shared<ByteStore>(path);
  FileStream stream(file);
  const auto unpacked = decompress(stream, compression, path);
  constexpr std::uint64_t kStep = 4 << 20;
  std::vector<std::byte> memory;
  std::uint64_t most = std::min(left, kStep) + 1;
  bool known = false;  // true once the declared size was requested
  while (memory.size() < most) {
    const std::size_t done = memory.size();
    memory.resize(done + static_cast<std::size_t>(std::min(kStep, most - done)));
    const std::size_t got = unpacked->read(std::span(memory).subspan(done));
    memory.resize(done + got);
    if (got == 0) break;
    if (known) continue;
    known = true;
    most = std::min(left, declared(memory).value_or(0)) + 1;
    memory.reserve(static_cast<std::size_t>(most));
  }
  if (memory.size() > left) {
    throw Error(
        unsupported_source(
            format, fmt::format("it holds over {} bytes: decompress it first", with_commas(left)),
            stream.offset()),
        {.file = path});
  }
  left -= memory.size();
  return std::make_shared<ByteStore>(std::move(memory), path);
}

}  // namespace tundish
