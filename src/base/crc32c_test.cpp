#include "base/crc32c.h"

#include <doctest/doctest.h>

#include <random>
#include <vector>

#include "base/machine/cpu.h"
#include "base/testing.h"

namespace tundish {
namespace {

std::vector<std::byte> bytes_of(const char* text) {
  std::vector<std::byte> out;
  for (; *text; ++text) out.push_back(static_cast<std::byte>(*text));
  return out;
}

}  // namespace

TEST_CASE("the checksum is Castagnoli's") {
  // Vectors from RFC 3720, B.4, and the usual check value.
  CHECK(crc32c(bytes_of("123456789")) == 0xe3069283u);
  CHECK(crc32c(std::vector<std::byte>(32)) == 0x8a9136aau);
  CHECK(crc32c_reference(std::vector<std::byte>(32, std::byte{0xff})) == 0x62a8ab43u);
  CHECK(crc32c({}) == 0);
}

TEST_CASE("fast, table and slow checksums agree, in one go or in parts") {
  const std::uint64_t seed = test_seed();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  for (int round = 0; round < 300; ++round) {
    std::vector<std::byte> bytes(random() % (round % 2 == 0 ? 100 : 5000));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    const Bytes all = bytes;
    const std::size_t cut = random() % (bytes.size() + 1);
    const std::uint32_t slow = crc32c_reference(all);
    CAPTURE(bytes.size());
    REQUIRE(crc32c(all) == slow);
    REQUIRE(crc32c_by_table(all) == slow);
    if (best_cpu() >= Cpu::sse)
      REQUIRE(crc32c_sse(all.subspan(cut), crc32c_sse(all.first(cut))) == slow);
    if (can_multiply_crc32c()) {
      REQUIRE(crc32c_avx512(all.subspan(cut), crc32c_avx512(all.first(cut))) == slow);
    }
    REQUIRE(crc32c(all.subspan(cut), crc32c(all.first(cut))) == slow);
  }
}

}  // namespace tundish
