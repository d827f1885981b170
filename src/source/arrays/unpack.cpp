#include "source/arrays/unpack.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "source/decompress.h"
#include "source/format.h"

namespace tundish {

SharedStore open_unpacked(const std::string& path, const char* format, std::uint64_t& left) {
  const File file = File::open(path);
  std::array<std::byte, 16> first;
  const Compression compression = sniff_compression(Bytes(first).first(file.read_at(first, 0)));
  if (compression == Compression::none) return std::make_shared<ByteStore>(path);
  FileStream stream(file);
  const auto unpacked = decompress(stream, compression, path);
  std::vector<std::byte> memory;
  constexpr std::size_t kStep = 4 << 20;
  for (std::size_t done = 0;;) {
    memory.resize(done + static_cast<std::size_t>(std::min<std::uint64_t>(kStep, left + 1)));
    const std::size_t got = unpacked->read(std::span(memory).subspan(done));
    memory.resize(done += got);
    if (got > left) {
      throw Error(
          unsupported_source(
              format, fmt::format("it holds over {} bytes: decompress it first", with_commas(done)),
              stream.offset()),
          {.file = path});
    }
    left -= got;
    if (got == 0) break;
  }
  memory.shrink_to_fit();
  return std::make_shared<ByteStore>(std::move(memory), path);
}

}  // namespace tundish
