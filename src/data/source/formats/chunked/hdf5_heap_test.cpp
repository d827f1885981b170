#include "data/source/formats/chunked/hdf5_heap.h"

#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <vector>

namespace tundish {
namespace {

// A heap at byte 8 with the objects 1 ("one") and 7 ("seven bytes").
std::vector<std::byte> heap() {
  std::vector<std::byte> out(8 + 128);
  std::memcpy(&out[8], "GCOL\x01", 5);
  store(&out[16], std::uint64_t{128});
  const auto object = [&](std::size_t at, std::uint16_t number, const std::string& text) {
    store(&out[at], number);
    store(&out[at + 8], std::uint64_t{text.size()});
    std::memcpy(&out[at + 16], text.data(), text.size());
  };
  object(24, 1, "one");
  object(48, 7, "seven bytes");
  return out;
}

std::optional<Fault> find(std::uint64_t& offset, const Hdf5Reference& reference, Bytes file) {
  return find_heap_object(offset, reference, file.size(), [&](ByteSpan out, std::uint64_t at) {
    if (at > file.size() || file.size() - at < out.size()) return false;
    std::memcpy(out.data(), file.data() + at, out.size());
    return true;
  });
}

TEST_CASE("an object of an HDF5 heap is found") {
  const auto file = heap();
  std::uint64_t offset = 0;
  REQUIRE_FALSE(find(offset, {11, 8, 7}, file));
  CHECK(std::memcmp(&file[offset], "seven bytes", 11) == 0);
  REQUIRE_FALSE(find(offset, {3, 8, 1}, file));
  CHECK(offset == 40);
}

TEST_CASE("HDF5 heaps that lie are refused") {
  auto file = heap();
  std::uint64_t offset = 0;
  CHECK(find(offset, {12, 8, 7}, file)->reason ==
        "HDF5: an element has more bytes than its object");
  CHECK(find(offset, {1, 8, 2}, file)->reason ==
        "HDF5: a heap does not have the object that an element names");
  CHECK(find(offset, {1, 0, 1}, file)->reason == "HDF5: there is no heap where an element says");
  CHECK(find(offset, {1, ~0ull, 1}, file)->reason == "HDF5: a heap leads out of the file");
  store(&file[32], ~0ull);
  CHECK(find(offset, {1, 8, 7}, file)->reason == "HDF5: an object leads out of its heap");
  store(&file[16], std::uint64_t{129});
  CHECK(find(offset, {1, 8, 1}, file)->reason == "HDF5: a heap leads out of the file");
}

}  // namespace
}  // namespace tundish
