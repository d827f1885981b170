#include "data/source/formats/chunked/hdf5_heap.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "data/source/format.h"

namespace tundish {
namespace {

constexpr const char* kName = "HDF5";
constexpr std::uint64_t kHead = 16;  // head of a collection and of an object

}  // namespace

Hdf5Reference load_hdf5_reference(const std::byte* from) {
  return {load<std::uint32_t>(from), load<std::uint64_t>(from + 4), load<std::uint32_t>(from + 12)};
}

// A collection: "GCOL", version 1, three zeros, its size. An object: number and reference count (16
// bits each), four zeros, its size; its bytes are followed by zeros up to a multiple of 8. Object 0
// is the free space at the end.
std::optional<Fault> find_heap_object(std::uint64_t& offset, const Hdf5Reference& reference,
                                      std::uint64_t file_size, const ReadAt& read) {
  const std::uint64_t start = reference.collection;
  std::array<std::byte, kHead> head;
  if (start > file_size || file_size - start < kHead || !read(head, start)) {
    return damaged_source(kName, "a heap leads out of the file", start);
  }
  const std::string_view magic(reinterpret_cast<const char*>(head.data()), 5);
  if (magic != std::string_view("GCOL\x01", 5)) {
    return damaged_source(kName, "there is no heap where an element says", start);
  }
  const auto size = load<std::uint64_t>(head.data() + 8);
  if (size > file_size - start) return damaged_source(kName, "a heap leads out of the file", start);
  const std::uint64_t end = start + size;
  std::uint64_t at = start + kHead;
  for (int n = 0; n < 65536 && at < end && end - at >= kHead; ++n) {
    if (!read(head, at)) break;
    const auto number = load<std::uint16_t>(head.data());
    const auto bytes = load<std::uint64_t>(head.data() + 8);
    if (number == 0) break;
    if (bytes > end - at - kHead)
      return damaged_source(kName, "an object leads out of its heap", at);
    if (number == reference.object) {
      if (bytes < reference.bytes) {
        return damaged_source(kName, "an element has more bytes than its object", at);
      }
      offset = at + kHead;
      return std::nullopt;
    }
    at += kHead + std::min((bytes + 7) / 8 * 8, end - at - kHead);
  }
  return damaged_source(kName, "a heap does not have the object that an element names", start);
}

}  // namespace tundish
