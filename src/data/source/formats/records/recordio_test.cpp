#include "data/source/formats/records/recordio.h"

#include <doctest/doctest.h>

#include "base/temporary_folder.h"
#include "base/testing.h"
#include "data/source/formats/records/forged_index.h"
#include "data/source/formats/records/recordio_reader.h"
#include "data/source/formats/records/tfrecord_maker.h"
#include "data/source/open.h"

namespace tundish {
namespace {

const std::string kPng = std::string("\x89PNG\r\n\x1a\n") + "pixels";
const std::string kMagic = raw(kRecordIoMagic);

std::string part(unsigned kind, const std::string& data) {
  return kMagic + raw(static_cast<std::uint32_t>(kind << 29 | data.size())) + data +
         std::string((4 - data.size() % 4) % 4, '\0');
}

std::string head(std::uint32_t flag, float label) {
  return raw(flag) + raw(label) + raw(std::uint64_t{1}) + raw(std::uint64_t{0});
}

// Splits data as the writer does: where the magic is at a multiple of 4 bytes.
std::string record(const std::string& data) {
  std::vector<std::string> parts(1);
  for (std::size_t at = 0; at < data.size();) {
    if (at % 4 == 0 && data.compare(at, 4, kMagic) == 0) {
      parts.emplace_back();
      at += 4;
    } else {
      parts.back() += data[at++];
    }
  }
  if (parts.size() == 1) return part(0, data);
  std::string out;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    out += part(p == 0 ? 1 : p + 1 == parts.size() ? 3 : 2, parts[p]);
  }
  return out;
}

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string field(const Source& source, std::uint64_t i, std::size_t f = 0) {
  Sample sample;
  source.read(sample, i);
  return text_of(sample.fields[f]);
}

std::string error_of(const std::string& path, const SourceOptions& options = {}) {
  try {
    open_loose(path, options);
  } catch (const Error& error) {
    return error_name(error.code()) + " " + error.reason();
  }
  return "none";
}

}  // namespace

TEST_CASE("recordio: records of several parts are joined with the magic between") {
  Random random({.seed = test_seed()}, 0);
  for (int round = 0; round < 300; ++round) {
    std::string data;
    for (int k = between(random, 0, 12); k > 0; --k) {
      data += random.below(3) == 0 ? kMagic : std::string(random.below(9), 'x');
    }
    const std::string stored = record(data);
    std::vector<std::byte> back;
    REQUIRE_FALSE(join_recordio(back, std::as_bytes(std::span(stored))));
    CHECK(text_of(back) == data);
  }
}

TEST_CASE("recordio: images and whole labels") {
  const TemporaryFolder folder;
  const std::string image = kPng + std::string(2, 'x') + kMagic + kMagic + "end";
  const std::string path =
      folder.write("a.rec", record(head(0, 3) + kPng) + record(head(0, 250) + image));
  for (int round = 0; round < 2; ++round) {  // the second round uses the index beside the file
    const auto source = open_loose(path);
    REQUIRE(source->count() == 2);
    CHECK(source->info(0).label == 3);
    CHECK(source->info(1).label == 250);
    CHECK(source->key(1) == "00000001");
    CHECK(field(*source, 0) == kPng);
    CHECK(field(*source, 1) == image);
    CHECK(source->bytes(1) == image.size());
  }
}

TEST_CASE("recordio: a label that the index changes is no label") {
  const TemporaryFolder folder;
  const std::string path =
      folder.write("a.rec", record(head(0, 3) + kPng) + record(head(0, 4) + kPng));
  open_loose(path);
  forge_first_label(path, "recordio");
  const auto source = open_loose(path);
  CHECK_THROWS_WITH_AS(field(*source, 0),
                       doctest::Contains("the label of the record is 3, and 4 in the index"),
                       SampleError);
  CHECK(field(*source, 1) == kPng);
}

TEST_CASE("recordio: the .idx file says which records, in which order") {
  const TemporaryFolder folder;
  const std::string one = record(head(0, 1) + kPng), two = record(head(0, 2) + kPng + "b");
  const std::string path = folder.write("a.rec", one + two);
  folder.write("a.idx", "7\t" + std::to_string(one.size()) + "\n8\t0\r\n");
  const auto source = open_loose(path);
  REQUIRE(source->count() == 2);
  CHECK(source->key(0) == "7");
  CHECK(source->info(0).label == 2);
  CHECK(field(*source, 0) == kPng + "b");
  folder.write("a.idx", "7\t4\n");
  CHECK(error_of(path).starts_with("TND-314 RecordIO: key '7': no record of "));
  folder.write("a.idx", "7 4\n");
  CHECK(error_of(path) == "TND-314 RecordIO: line 1 is not KEY<tab>OFFSET");
  folder.write("a.idx", "a\t0\n./a\t0\n");
  CHECK(error_of(path) == "TND-314 RecordIO: key 'a' occurs twice");
}

TEST_CASE("recordio: labels that are no whole numbers are arrays") {
  const TemporaryFolder folder;
  const auto vector = [](float a, float b) { return head(2, 0) + raw(a) + raw(b) + kPng; };
  const auto fixed = open_loose(folder.write("a", record(vector(1, 2)) + record(vector(3, 4))));
  CHECK(fixed->schema().fields[1] ==
        Field{"label", FieldType::array, ArrayType{ArrayElement::float32, {2}}});
  CHECK(field(*fixed, 1, 1) == raw(3.0f) + raw(4.0f));
  CHECK(field(*fixed, 1) == kPng);
  CHECK(fixed->bytes(1) == kPng.size() + 8);
  CHECK(fixed->info(1).label == -1);
  const auto mixed =
      open_loose(folder.write("b", record(vector(1, 2)) + record(head(0, 5) + kPng)));
  CHECK(field(*mixed, 1, 1) == npy_head({ArrayElement::float32, {1}}) + raw(5.0f));
  CHECK(mixed->bytes(1) == kPng.size() + field(*mixed, 1, 1).size());
  const auto half =
      open_loose(folder.write("c", record(head(0, 1) + kPng) + record(head(0, 0.5f) + kPng)));
  CHECK(half->schema().fields[1].array == ArrayType{ArrayElement::float32, {}});
  CHECK(field(*half, 1, 1) == raw(0.5f));
  CHECK(half->info(0).label == -1);
}

TEST_CASE("recordio: a bad record is one bad sample, a damaged file is refused") {
  const TemporaryFolder folder;
  const std::string good = record(head(0, 1) + kPng);
  const auto source =
      open_loose(folder.write("a", good + record("short") + record(head(900, 0) + kPng) + good));
  REQUIRE(source->count() == 4);
  CHECK(field(*source, 3) == kPng);
  CHECK(source->info(3).label == 1);
  CHECK_THROWS_WITH_AS(field(*source, 1), doctest::Contains("shorter than its header"),
                       SampleError);
  CHECK_THROWS_WITH_AS(field(*source, 2), doctest::Contains("900 labels and an image"),
                       SampleError);
  CHECK(error_of(folder.write("b", good + "12345678")) ==
        "TND-314 RecordIO: no record begins here: 34333231 instead of ced7230a");
  CHECK(error_of(folder.write("c", good + good.substr(0, good.size() - 8)))
            .starts_with("TND-314 RecordIO: the last record is cut off: "));
  CHECK(error_of(folder.write("d", good + kMagic)) ==
        "TND-314 RecordIO: the head of the last record is cut off");
  CHECK(error_of(folder.write("e", good + part(2, "abcd"))) ==
        "TND-314 RecordIO: a record begins with a part that is not its first");
  CHECK(error_of(folder.write("f", part(1, head(0, 1)) + good)) ==
        "TND-314 RecordIO: a record of several parts has no last part");
  CHECK(
      error_of(folder.write("g", record("no image at all, and no header"))).starts_with("TND-315"));
  CHECK(error_of(folder.write("h", good), {.format = {}, .image = {}, .label = "class"})
            .starts_with("TND-318 nothing is called"));
}

}  // namespace tundish
