#include "data/source/formats/tar/tar_reader.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "base/random.h"
#include "base/testing.h"
#include "data/source/formats/tar/tar_maker.h"
#include "data/source/memory_stream.h"

namespace tundish {
namespace {

struct Read {
  std::vector<std::string> names;
  std::vector<std::string> data;
  std::vector<std::uint64_t> ends;  // end offsets in the stream, including data and padding
  std::uint64_t links = 0;
  std::optional<Fault> fault;
  bool operator==(const Read& other) const {
    return names == other.names && data == other.data && links == other.links;
  }
};

Read read_all(ByteStream& stream) {
  Read out;
  TarReader reader(stream);
  TarMember member;
  std::vector<std::byte> data;
  while (reader.next(member)) {
    out.names.push_back(member.name);
    if (member.size > (1 << 20)) continue;
    if (!reader.read(data)) break;
    CHECK(data.size() == member.size);
    out.data.push_back(text_of(data));
    out.ends.push_back(member.offset + (member.size + 511) / 512 * 512);
  }
  out.fault = reader.fault();
  out.links = reader.links();
  CHECK_FALSE(reader.next(member));  // also when called again
  return out;
}

Read read_all(std::string_view archive) {
  MemoryStream stream(bytes_of(archive));
  return read_all(stream);
}

// A stream of unknown length, like a decompressor.
class BlindStream : public MemoryStream {
 public:
  using MemoryStream::MemoryStream;
  std::optional<std::uint64_t> left() const override { return {}; }
  std::uint64_t skip(std::uint64_t bytes) override { return ByteStream::skip(bytes); }
};

std::string reason_of(std::string_view archive) {
  const Read read = read_all(archive);
  if (!read.fault) return "";
  CHECK(read.fault->code == ErrorCode::tar_damaged);
  BlindStream blind(bytes_of(archive));
  CHECK(read_all(blind).fault);
  return read.fault->reason;
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("members of v7, ustar and GNU archives are read with their data") {
  for (const auto format : {TarMaker::Format::v7, TarMaker::Format::ustar, TarMaker::Format::gnu}) {
    const char type = format == TarMaker::Format::v7 ? '\0' : '0';
    const std::string archive = TarMaker(format)
                                    .add("folder/", "", type == '\0' ? type : '5')
                                    .add("a b\n.jpg", "one", type)
                                    .add("\xff\xfe.png", std::string(512, 'x'), type)
                                    .add("empty.txt", "", type)
                                    .add("last", std::string(513, 'y'), '7')
                                    .end();
    const Read read = read_all(archive);
    CHECK_FALSE(read.fault);
    CHECK(read.names == std::vector<std::string>{"a b\n.jpg", "\xff\xfe.png", "empty.txt", "last"});
    CHECK(read.data ==
          std::vector<std::string>{"one", std::string(512, 'x'), "", std::string(513, 'y')});
  }
}

TEST_CASE("long names are joined from a ustar prefix, a GNU header or a pax header") {
  const std::string name = std::string(90, 'd') + '/' + std::string(60, 'n') + ".jpg";
  const std::string longer = std::string(1000, 'd') + '/' + std::string(200, 'n') + ".jpg";
  CHECK(read_all(TarMaker().add(name, "x").end()).names.at(0) == name);
  CHECK(read_all(TarMaker(TarMaker::Format::gnu).long_name(longer).add("cut", "x").end())
            .names.at(0) == longer);
  CHECK(read_all(TarMaker().pax("path", longer).add("cut", "x").end()).names.at(0) == longer);
  // Pax headers apply to one member only; a global header to none.
  const Read read = read_all(
      TarMaker().pax("path", "global", 'g').pax("path", "b").add("a", "x").add("c", "").end());
  CHECK(read.names == std::vector<std::string>{"b", "c"});
}

TEST_CASE("sizes may be in base 256 or in a pax header") {
  std::string field(12, '\0');
  field[0] = '\x80';
  field[11] = 3;
  CHECK(read_all(TarMaker().add("a", "abc", '0', field).add("b", "").end()).names.size() == 2);
  const Read read =
      read_all(TarMaker().pax("size", "3").add("a", "abc", '0', "00000000000 ").add("b", "").end());
  CHECK(read.data == std::vector<std::string>{"abc", ""});
}

TEST_CASE("links, devices and folders are skipped, whatever size they claim") {
  const Read read = read_all(TarMaker()
                                 .add("hard", "", '1', "00000007777 ")
                                 .add("soft", "", '2')
                                 .add("character", "", '3')
                                 .add("block", "", '4')
                                 .add("folder", "", '5', "00000007777 ")
                                 .add("pipe", "", '6')
                                 .add("unheard of", "its data", 'Q')
                                 .add("a", "x")
                                 .end());
  CHECK_FALSE(read.fault);
  CHECK(read.names == std::vector<std::string>{"a"});
  CHECK(read.links == 2);
}

TEST_CASE("concatenated archives are read as one, other data after the end are not read") {
  const std::string one = TarMaker().add("a", "x").end();
  const std::string two = TarMaker().add("b", "y").end();
  CHECK(read_all(one + std::string(9216, '\0') + two).names == std::vector<std::string>{"a", "b"});
  const Read read = read_all(one + std::string(600, 'j'));
  CHECK_FALSE(read.fault);
  CHECK(read.names == std::vector<std::string>{"a"});
}

TEST_CASE("an archive cut anywhere before its end mark is refused") {
  const std::string whole = TarMaker()
                                .add("a", "x")
                                .pax("path", "long")
                                .add("b", std::string(700, 'y'))
                                .long_name("longer")
                                .add("c", "")
                                .without_end();
  const Read all = read_all(whole + std::string(1024, '\0'));
  REQUIRE_FALSE(all.fault);
  for (std::size_t length = 0; length < whole.size() + 512; ++length) {
    const std::string cut = (whole + std::string(512, '\0')).substr(0, length);
    REQUIRE(!reason_of(cut).empty());
  }
  CHECK(read_all(whole + std::string(512, '\0')) == all);  // one block of the end mark suffices
}

TEST_CASE("a changed bit in a header is found by its checksum") {
  const std::string whole = TarMaker().add("a", "x").add("b", "y").end();
  for (std::size_t bit = 0; bit < 512 * 8; ++bit) {
    std::string changed = whole;
    char& byte = changed[1024 + bit / 8];
    byte = static_cast<char>(byte ^ (1 << bit % 8));
    const Read read = read_all(changed);
    // Spaces and zeros around the digits of the stored sum carry no meaning.
    const bool in_sum = bit / 8 >= 148 && bit / 8 < 156;
    if (!in_sum) REQUIRE(read.fault);
    if (!read.fault) REQUIRE(read == read_all(whole));
    if (read.fault) REQUIRE(read.fault->offset == 1024);
  }
}

TEST_CASE("wrong sizes are refused before memory is taken") {
  std::string near_2_63(12, '\xff');
  near_2_63[0] = near_2_63[1] = near_2_63[2] = near_2_63[3] = '\0';
  near_2_63[0] = '\x80';
  near_2_63[4] = '\x7f';
  CHECK(has(reason_of(TarMaker().add("a", "x", '0', near_2_63).end()), "only 1,536 follow"));
  std::string over = near_2_63;
  over[4] = '\x80';
  CHECK(has(reason_of(TarMaker().add("a", "x", '0', over).end()), "no readable size"));
  CHECK(has(reason_of(TarMaker().add("a", "x", '0', std::string(12, '\xff')).end()),
            "no readable size"));
  CHECK(has(reason_of(TarMaker().add("a", "x", '0', "77777777777 ").end()), "follow"));
  CHECK(has(reason_of(TarMaker().add("a", "x", '0', "0000000 001 ").end()), "no readable size"));
  CHECK(has(reason_of(TarMaker().add("a", "x", '0', "-0000000001 ").end()), "no readable size"));
  CHECK(has(reason_of(TarMaker().add("a", "x", 'L', "77777777777 ").end()), "at most 1,048,576"));
  CHECK(has(reason_of(TarMaker().add("a", "x", 'x', near_2_63).end()), "at most 1,048,576"));
  for (const char* size : {"9223372036854775807", "9223372036854775808", "18446744073709551615"}) {
    CHECK(!reason_of(TarMaker().pax("size", size).add("a", "x").end()).empty());
  }
  for (const char* size : {"18446744073709551616", "-1", "1x", " 1"}) {
    CHECK(has(reason_of(TarMaker().pax("size", size).add("a", "x").end()), "no readable size"));
  }
}

TEST_CASE("damaged or endless pax headers are refused") {
  for (const char* text :
       {"5 a=", "99999 path=b\n", "0 path=b\n", "3 =\n\n", "x", "12", "99999999999999999999 a=b\n",
        "6 a=bc", "6 abcd\n", "-6 a=b\n", "4 a\n"}) {
    CHECK(has(reason_of(TarMaker().add("p", text, 'x').add("a", "x").end()), "pax header"));
  }
  const std::string huge((1 << 20) + 1, 'v');
  CHECK(has(reason_of(TarMaker().add("p", huge, 'x').add("a", "x").end()), "at most"));
  CHECK(has(reason_of(TarMaker().add("p", huge, 'g').add("a", "x").end()), "at most"));
  TarMaker many;
  for (int i = 0; i < 1100; ++i) many.pax("path", "a");
  CHECK(has(reason_of(many.add("a", "x").end()), "in a row"));
  CHECK(has(reason_of(TarMaker().pax("path", "a").end()), "should follow"));
}

TEST_CASE("names without letters or with zero bytes, sparse files and volumes are refused") {
  CHECK(has(reason_of(TarMaker().add("", "x").end()), "no name"));
  CHECK(has(reason_of(TarMaker().pax("path", std::string_view("a\0b", 3)).add("a", "x").end()),
            "zero byte"));
  CHECK(has(reason_of(TarMaker().pax("GNU.sparse.major", "1").add("a", "x").end()), "holes"));
  CHECK(has(reason_of(TarMaker().add("a", "x", 'S').end()), "holes"));
  CHECK(has(reason_of(TarMaker().add("a", "x", 'M').end()), "volume"));
  CHECK(has(reason_of(std::string(512, 'x')), "does not begin with a tar header"));
}

// A member before the damage equals the member of the whole archive; a fault has its place and
// reason.
static void check_damaged(const Read& read, const Read& whole, std::size_t damaged_at,
                          std::size_t archive_bytes) {
  for (std::size_t i = 0; i < whole.ends.size() && whole.ends[i] <= damaged_at; ++i) {
    REQUIRE(read.names.size() > i);
    REQUIRE(read.names[i] == whole.names[i]);
    REQUIRE(read.data.at(i) == whole.data[i]);
  }
  std::size_t bytes = 0;
  for (const std::string& data : read.data) bytes += data.size();
  REQUIRE(bytes <= archive_bytes);
  for (const std::string& name : read.names) REQUIRE_FALSE(name.empty());
  if (!read.fault) {
    REQUIRE(read.names.size() == read.data.size());
    return;
  }
  REQUIRE(read.fault->code == ErrorCode::tar_damaged);
  REQUIRE_FALSE(read.fault->reason.empty());
  REQUIRE(read.fault->offset <= archive_bytes);
}

TEST_CASE("random damage gives a fault or members, those before it as they were") {
  const std::string whole = TarMaker()
                                .pax("path", "long")
                                .add("a", "x")
                                .long_name("longer")
                                .add("b", std::string(700, 'y'))
                                .end();
  const Read expected = read_all(whole);
  REQUIRE(expected.names == std::vector<std::string>{"long", "longer"});
  const std::uint64_t seed = test_seed();
  CAPTURE(seed);
  Random random({.seed = seed}, 0);
  int faults = 0;
  constexpr int kRounds = 3000;
  for (int round = 0; round < kRounds; ++round) {
    CAPTURE(round);
    std::string changed = whole;
    for (std::uint64_t n = 1 + random.below(4); n > 0; --n) {
      changed[random.below(changed.size())] = static_cast<char>(random.below(256));
    }
    const auto differs = std::mismatch(whole.begin(), whole.end(), changed.begin()).first;
    const auto damaged_at = static_cast<std::size_t>(differs - whole.begin());
    const Read read = read_all(changed);
    check_damaged(read, expected, damaged_at, whole.size());
    BlindStream blind(bytes_of(changed));
    check_damaged(read_all(blind), expected, damaged_at, whole.size());
    faults += read.fault.has_value();
  }
  CHECK(faults > kRounds / 4);
  CHECK(faults < kRounds);  // bytes of data and padding are not checked
}

}  // namespace tundish
