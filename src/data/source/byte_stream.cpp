#include "data/source/byte_stream.h"

#include <algorithm>
#include <vector>

namespace tundish {

std::uint64_t ByteStream::skip(std::uint64_t bytes) {
  std::vector<std::byte> scratch(std::min<std::uint64_t>(bytes, 64 << 10));
  std::uint64_t done = 0;
  while (done < bytes) {
    const std::size_t wanted = std::min<std::uint64_t>(bytes - done, scratch.size());
    const std::size_t got = read(std::span(scratch).first(wanted));
    done += got;
    if (got < wanted) break;
  }
  return done;
}

std::size_t FileStream::read(std::span<std::byte> out) {
  const std::size_t wanted = std::min<std::uint64_t>(out.size(), size_ - offset_);
  const std::size_t bytes = file_.read_at(out.first(wanted), offset_);
  offset_ += bytes;
  return bytes;
}

std::uint64_t FileStream::skip(std::uint64_t bytes) {
  bytes = std::min(bytes, size_ - offset_);
  offset_ += bytes;
  return bytes;
}

}  // namespace tundish
