// Opening and verifying a pack detects every single bit flip and every truncation.
#include <doctest/doctest.h>

#include <thread>

#include "base/testing.h"
#include "data/pack/test_pack.h"

namespace tundish {
namespace {

struct Found {};

bool is_found(Bytes bytes) {
  try {
    open_bytes(bytes)->verify([](const Error&) { throw Found{}; });
  } catch (const Error&) {
    return true;
  } catch (const Found&) {
    return true;
  }
  return false;
}

FileBytes pack_of_64_kib() {
  const MemorySource source = image_source(28, 48, 11);
  FileBytes bytes = bytes_of_pack(source);
  REQUIRE(bytes.size() > 50'000);
  REQUIRE(bytes.size() < 90'000);
  return bytes;
}

}  // namespace

TEST_CASE("every single bit flip is found") {
  const FileBytes good = pack_of_64_kib();
  REQUIRE_FALSE(is_found(good));
  std::atomic<std::size_t> missed = 0;
  const auto flip_all = [&](std::size_t first, std::size_t end) {
    FileBytes bytes = good;
    for (std::size_t bit = first; bit < end; bit += one_in<std::size_t>(97)) {
      const std::byte mask{static_cast<unsigned char>(1u << bit % 8)};
      bytes[bit / 8] ^= mask;
      missed += !is_found(bytes);
      bytes[bit / 8] ^= mask;
    }
  };
  const std::size_t bits = 8 * good.size();
  std::thread other(flip_all, 0, bits / 2);
  flip_all(bits / 2, bits);
  other.join();
  CHECK(missed == 0);
}

TEST_CASE("every truncation is found, and called incomplete") {
  const FileBytes good = pack_of_64_kib();
  std::size_t other = 0;
  for (std::size_t bytes = kHeadMagic.size(); bytes < good.size();
       bytes += one_in<std::size_t>(13)) {
    other += open_code(Bytes(good).first(bytes)) != ErrorCode::incomplete;
  }
  CHECK(other == 0);
  for (std::size_t bytes = 0; bytes < kHeadMagic.size(); ++bytes) {
    CHECK(open_code(Bytes(good).first(bytes)) != ErrorCode::none);
  }
}

TEST_CASE("zeroed, exchanged and repeated stretches are found") {
  const FileBytes good = pack_of_64_kib();
  Random random({.seed = 3}, 0);
  for (int round = 0; round < 2000 / one_in(10); ++round) {
    CAPTURE(round);
    FileBytes bytes = good;
    const std::size_t length = 1 + random.below(512);
    const std::size_t from = random.below(good.size() - length);
    const std::size_t to = random.below(good.size() - length);
    const auto at = [&](std::size_t offset) {
      return bytes.begin() + static_cast<std::ptrdiff_t>(offset);
    };
    switch (round % 4) {
      case 0:
        std::fill(at(from), at(from + length), std::byte{0});
        break;
      case 1:
        std::copy(good.begin() + static_cast<std::ptrdiff_t>(from),
                  good.begin() + static_cast<std::ptrdiff_t>(from + length), at(to));
        break;
      case 2:
        bytes.erase(at(from), at(from + length));
        break;
      case 3:
        bytes.insert(at(to), good.begin() + static_cast<std::ptrdiff_t>(from),
                     good.begin() + static_cast<std::ptrdiff_t>(from + length));
        break;
    }
    if (bytes != good) REQUIRE(is_found(bytes));
  }
}

}  // namespace tundish
