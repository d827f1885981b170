#include "data/source/formats/records/protobuf.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "base/testing.h"

namespace tundish {
namespace {

Bytes view(const std::string& text) { return std::as_bytes(std::span(text)); }

std::string error_of(const std::string& message) {
  ProtobufReader reader(view(message), 100);
  WireField field;
  while (reader.next(field)) {
  }
  return reader.error() ? reader.error() : "";
}

std::string varint(std::uint64_t value) {
  std::string out;
  for (; value >= 128; value >>= 7) out += static_cast<char>(value | 128);
  return out + static_cast<char>(value);
}

}  // namespace

TEST_CASE("protobuf: fields of every type, with their places") {
  const std::string message = std::string("\x08\x96\x01\x12\x03", 5) + "abc" +
                              std::string("\x1d\x01\x00\x00\x80\x21", 6) +
                              std::string("\x02\0\0\0\0\0\0\0", 8);
  ProtobufReader reader(view(message), 100);
  WireField field;
  REQUIRE(reader.next(field));
  CHECK((field.number == 1 && field.type == WireType::varint && field.value == 150));
  REQUIRE(reader.next(field));
  CHECK((field.number == 2 && field.type == WireType::bytes && field.offset == 105));
  CHECK(std::string(reinterpret_cast<const char*>(field.bytes.data()), field.bytes.size()) ==
        "abc");
  REQUIRE(reader.next(field));
  CHECK((field.number == 3 && field.type == WireType::fixed32 && field.value == 0x80000001u));
  REQUIRE(reader.next(field));
  CHECK((field.number == 4 && field.type == WireType::fixed64 && field.value == 2));
  CHECK_FALSE(reader.next(field));
  CHECK(reader.error() == nullptr);
}

TEST_CASE("protobuf: numbers of any length") {
  Random random({.seed = test_seed()}, 0);
  for (int round = 0; round < 2000; ++round) {
    const std::uint64_t value = random.below(~std::uint64_t{0}) >> random.below(64);
    std::uint64_t back = 0;
    std::size_t at = 0;
    const std::string bytes = varint(value);
    REQUIRE(read_varint(back, view(bytes), at));
    CHECK(back == value);
    CHECK(at == bytes.size());
    at = 0;
    CHECK_FALSE(read_varint(back, view(bytes).first(bytes.size() - 1), at));
  }
  std::uint64_t back = 0;
  std::size_t at = 0;
  CHECK_FALSE(read_varint(back, view(std::string(10, '\xff')), at));
}

TEST_CASE("protobuf: what is wrong is said") {
  CHECK(error_of("") == "");
  CHECK(error_of("\x80") == "the tag of a field is cut off or too long");
  CHECK(error_of(std::string(1, '\0')) == "a field has an impossible number");
  CHECK(error_of("\x08\x80") == "a number is cut off or too long");
  CHECK(error_of("\x0d\x01\x02") == "a number of 4 bytes is cut off");
  CHECK(error_of("\x09\x01\x02") == "a number of 8 bytes is cut off");
  CHECK(error_of("\x12\x04"
                 "abc") == "a length is over the end of its message");
  CHECK(error_of("\x12" + varint(~std::uint64_t{0})) == "a length is over the end of its message");
  CHECK(error_of("\x0b") == "a field has an unknown type (a group, or no protocol buffer)");
}

}  // namespace tundish
