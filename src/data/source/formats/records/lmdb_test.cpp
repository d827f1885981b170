#include "data/source/formats/records/lmdb.h"

#include <doctest/doctest.h>

#include "base/temporary_folder.h"
#include "base/testing.h"
#include "data/source/formats/records/forged_index.h"
#include "data/source/formats/records/lmdb_maker.h"
#include "data/source/formats/records/lmdb_tree.h"
#include "data/source/formats/records/pickled_pair.h"
#include "data/source/formats/records/tfrecord_maker.h"
#include "data/source/open.h"

namespace tundish {
namespace {

const std::string kPng = std::string("\x89PNG\r\n\x1a\n") + "pixels";
const std::string kLong = kPng + std::string(900, 'x');

// A branch, two leaves, a long value, and a key added by the writing tool.
LmdbMaker good() {
  LmdbMaker out(4, 2, 6);
  out.add(false, {{.key = "", .page = 3}, {.key = "c", .page = 4}});
  out.add(true, {{.key = "__len__", .value = "3"}, {.key = "a/1", .value = kPng}});
  out.add(true, {{.key = "c", .page = 5, .long_value = static_cast<std::uint32_t>(kLong.size())},
                 {.key = "d", .value = kPng + "d"}});
  return out.add_long(kLong);
}

std::string walk(const std::string& bytes) {
  const ReadAt read_at = [&](std::span<std::byte> out, std::uint64_t offset) {
    if (offset > bytes.size() || out.size() > bytes.size() - offset) return false;
    std::memcpy(out.data(), bytes.data() + offset, out.size());
    return true;
  };
  LmdbValues values;
  const auto fault = walk_lmdb(values, read_at, bytes.size());
  for (std::size_t i = 0; i < values.offsets.size(); ++i) {
    CHECK(values.offsets[i] <= bytes.size());
    CHECK(values.sizes[i] <= bytes.size() - values.offsets[i]);
  }
  return fault ? error_name(fault->code) + " " + fault->reason : "good";
}

// Walks the good file with a number changed.
template <class T>
std::string walk_changed(std::size_t at, T value) {
  LmdbMaker file = good();
  LmdbMaker::put(file.bytes, at, value);
  return walk(file.bytes);
}

constexpr std::size_t kPage = LmdbMaker::kPage;

const std::byte* as_bytes(const std::string& text) {
  return reinterpret_cast<const std::byte*>(text.data());
}

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Makes a pickle of protocol 3.
std::string pickled_pair(const std::string& image, char label) {
  return std::string(
             "\x80\x03"
             "C") +
         static_cast<char>(image.size()) + image + "K" + label + "\x86.";
}

const std::string kListOfKeys =
    "\x80\x03](X\x01" + std::string(3, '\0') + "bX\x01" + std::string(3, '\0') + "aC\x01" + "ce.";
const std::string kThree = "\x80\x03K\x03.";

// Makes four values, of which __keys__ may list three.
std::string pairs_with(const std::string& keys) {
  const std::string old = "(S'\\x89PNG\\r\\n\\x1a\\nold'\nI9\nt.";  // protocol 0
  LmdbMaker out(6, 2, 2);
  out.add(true, {{.key = "__keys__", .value = keys},
                 {.key = "__len__", .value = kThree},
                 {.key = "a", .value = pickled_pair(kPng, 7)},
                 {.key = "b", .value = old},
                 {.key = "c", .value = pickled_pair(kPng, 1) + "and more"},
                 {.key = "d", .value = "\x80\x03N."}});
  return out.bytes;
}

}  // namespace

TEST_CASE("lmdb: every value by its key, without the writer's own keys") {
  const TemporaryFolder folder;
  folder.write("d/data.mdb", good().bytes);
  for (int round = 0; round < 2; ++round) {  // the second round uses the index beside the file
    const auto source = open_loose(folder / "d");
    REQUIRE(source->count() == 3);
    CHECK(source->key(0) == "a/1");
    CHECK(source->key(1) == "c");
    CHECK(source->schema().fields == std::vector<Field>{{"image", FieldType::image}});
    Sample sample;
    source->read(sample, 1);
    CHECK(text_of(sample.fields[0]) == kLong);
    source->read(sample, 2);
    CHECK(text_of(sample.fields[0]) == kPng + "d");
    CHECK(source->bytes(1) == kLong.size());
    CHECK(source->path() == folder / "d");
  }
  CHECK_FALSE(std::filesystem::exists(folder / "d/lock.mdb"));
}

TEST_CASE("lmdb: the newer of two good heads counts") {
  CHECK(walk(good().bytes) == "good");
  CHECK(
      walk_changed(kPage + 16, 0u) ==  // the other head belongs to an empty file
      "TND-314 LMDB: one of its two heads is damaged or cut off, and the other one has no values");
  CHECK(walk_changed(0 + 16, 0u) == "good");  // the first head damaged
  LmdbMaker both = good();
  LmdbMaker::put(both.bytes, 16, 0u);
  LmdbMaker::put(both.bytes, kPage + 16, 0u);
  CHECK(walk(both.bytes).starts_with("TND-314 LMDB: neither of its two heads is good"));
}

TEST_CASE("lmdb: pages out of range, cycles, overlaps and lies are refused") {
  const auto branch = [](std::uint32_t to) {  // the first entry of the root refers to another page
    return walk_changed(3 * kPage - 8, to);
  };
  CHECK(branch(3) == "good");
  CHECK(branch(2) == "TND-314 LMDB: page 2 is used twice (a cycle or an overlap)");
  CHECK(branch(4) == "TND-314 LMDB: page 4 is used twice (a cycle or an overlap)");
  CHECK(branch(99) == "TND-314 LMDB: page 2 refers to 1 page from page 99, the file has 7 pages");
  CHECK(branch(0) == "TND-314 LMDB: page 2 refers to 1 page from page 0, the file has 7 pages");
  CHECK(branch(5) == "TND-314 LMDB: page 5 is no branch or leaf of the tree");
  CHECK(walk_changed(kPage + 120, std::uint64_t{5}) ==
        "TND-314 LMDB: it has 4 values, its head says 5");
  CHECK(walk_changed(3 * kPage + 16, std::uint16_t{511}) ==
        "TND-314 LMDB: entry 0 of page 3 is outside the page, or overlaps another");
  CHECK(walk_changed(3 * kPage + 12, std::uint16_t{600}) ==
        "TND-314 LMDB: page 3 is no branch or leaf of the tree");
  CHECK(walk_changed(5 * kPage + 12, 1u) ==
        "TND-314 LMDB: page 5 does not begin a value of 914 bytes");
  // The last entry of page 3 lies before the first: a longer value would overlap the first.
  const std::string bytes = good().bytes;
  const std::size_t entry = 3 * kPage + load<std::uint16_t>(as_bytes(bytes) + 3 * kPage + 18);
  CHECK(walk_changed(entry, static_cast<std::uint32_t>(kPng.size() + 1)) == "good");  // padding
  CHECK(walk_changed(entry, static_cast<std::uint32_t>(kPng.size() + 2)) ==
        "TND-314 LMDB: entry 0 of page 3 is outside the page, or overlaps another");
  // A page whose entries are all the same entry, with a long key.
  LmdbMaker shared(3, 2, 2);
  shared.add(true, {{.key = std::string(200, 'k')}});
  LmdbMaker::put(shared.bytes, 2 * kPage + 12, std::uint16_t{16 + 2 * 3});
  for (const std::size_t at : {18u, 20u}) {
    std::memcpy(&shared.bytes[2 * kPage + at], &shared.bytes[2 * kPage + 16], 2);
  }
  CHECK(walk(shared.bytes) ==
        "TND-314 LMDB: entry 1 of page 2 is outside the page, or overlaps another");
  CHECK(walk(bytes.substr(0, 6 * kPage)) ==
        "TND-314 LMDB: page 4 refers to 2 pages from page 5, the file has 6 pages");
}

TEST_CASE("lmdb: what is not read is named") {
  CHECK(walk_changed(kPage + 92, std::uint16_t{4}) ==
        "TND-315 LMDB: it has several values per key (DUPSORT)");
  LmdbMaker inside(1, 2, 2);
  inside.add(true, {{.key = "train", .value = std::string(48, '\0'), .flags = 2}});
  CHECK(walk(inside.bytes) == "TND-315 LMDB: 'train' is a named database, or has several values");
  const TemporaryFolder folder;
  LmdbMaker arrow(1, 2, 2);
  arrow.add(true, {{.key = "a", .value = std::string(16, '\0') + "\xff\xff\xff\xff and more"}});
  CHECK_THROWS_WITH_AS(open_loose(folder.write("q", arrow.bytes)),
                       doctest::Contains("pyarrow.serialize()"), Error);
  LmdbMaker text(1, 2, 2);
  text.add(true, {{.key = "a", .value = "text"}});
  CHECK_THROWS_WITH_AS(open_loose(folder.write("r", text.bytes)),
                       doctest::Contains("neither an image nor a Caffe Datum"), Error);
}

TEST_CASE("lmdb: pickles of an image and its label, in the order of __keys__") {
  const TemporaryFolder folder;
  const std::string path = folder.write("d", pairs_with(kListOfKeys));
  for (int round = 0; round < 2; ++round) {  // the second round uses the index beside the file
    const auto source = open_loose(path);
    REQUIRE(source->count() == 3);
    CHECK(source->key(0) == "b");
    CHECK(source->key(2) == "c");
    CHECK(source->info(0).label == 9);
    CHECK(source->info(1).label == 7);
    Sample sample;
    source->read(sample, 0);
    CHECK(text_of(sample.fields[0]) == "\x89PNG\r\n\x1a\nold");
    source->read(sample, 1);
    CHECK(text_of(sample.fields[0]) == kPng);
    CHECK(source->bytes(1) == kPng.size());
    REQUIRE(source->warnings().size() == 1);
    CHECK(source->warnings()[0] == path + ": 1 value is left out: __keys__ does not list it");
  }
  const auto other = open_loose(folder.write("e", pairs_with("pyarrow")));
  REQUIRE(other->count() == 4);
  CHECK(other->key(0) == "a");
  CHECK(other->warnings()[0].ends_with("__keys__ is no pickled list that is read"));
  Sample sample;
  CHECK_THROWS_WITH_AS(other->read(sample, 3),
                       doctest::Contains("it is not (bytes of an image file, label)"), SampleError);
}

TEST_CASE("lmdb: __keys__ of protocols 0 and 1, which have no head") {
  const TemporaryFolder folder;
  const std::string encoded = "c_codecs\nencode\np1\n(Vb\np2\nVlatin1\np3\ntp4\nRp5\n";
  for (const std::string& keys : {"(lp0\n" + encoded + "aVa\np6\na.",  // Python 3, protocol 0
                                  std::string("(lp0\nS'b'\np1\naS'a'\np2\na."),  // Python 2
                                  std::string("]q\0(U\x01"
                                              "bq\x01U\x01"
                                              "aq\x02"
                                              "e.",
                                              16)}) {  // Python 2, protocol 1
    const auto source = open_loose(folder.write("d", pairs_with(keys)));
    REQUIRE(source->count() == 2);
    CHECK(source->key(0) == "b");
    CHECK(source->key(1) == "a");
    CHECK(source->warnings()[0].ends_with("2 values are left out: __keys__ does not list them"));
  }
  for (const char* keys : {"no pickle.", "(lp0\nS'b'\na.x.", "cos\nsystem\n(S'x'\ntR."}) {
    const auto source = open_loose(folder.write("d", pairs_with(keys)));
    CHECK(source->count() == 4);
    CHECK(source->warnings()[0].ends_with("__keys__ is no pickled list that is read"));
  }
}

TEST_CASE("lmdb: __keys__ that lie and hostile pickles are refused") {
  const TemporaryFolder folder;
  const auto refuses = [&](const std::string& keys, const char* reason) {
    CHECK_THROWS_WITH_AS(open_loose(folder.write("f", pairs_with(keys))), doctest::Contains(reason),
                         Error);
  };
  refuses("\x80\x03]C\x01xa.", "__keys__ lists a key that the file does not have: 'x'");
  refuses(
      "\x80\x03](C\x01"
      "aC\x01"
      "ae.",
      "__keys__ lists a key twice: 'a'");
  refuses("\x80\x03]C\x07__len__a.", "__keys__ lists a key that is no sample: '__len__'");
  refuses("\x80\x03]Na.", "__keys__ lists something that is not a key");
  refuses(
      "\x80\x03"
      "cos\nsystem\n(S'x'\ntR.",
      "it names os.system");
  refuses(kListOfKeys.substr(0, 9), "the bytes end early");
  PickledPair bomb;
  const std::string many = "\x80\x03" + std::string(1001, 'N') + ".";
  const auto fault = parse_pickled_pair(bomb, Bytes(as_bytes(many), many.size()));
  REQUIRE(fault);
  CHECK(fault->reason == "LMDB: pickle: over 1,000 values");
}

TEST_CASE("lmdb: Caffe Datums with their labels") {
  const auto datum = [](int width, const std::string& data, int label) {
    return std::string("\x08\x03\x10\x01\x18") + static_cast<char>(width) + inner(4, data) +
           "\x28" + static_cast<char>(label);
  };
  LmdbMaker file(3, 2, 2);
  file.add(true, {{.key = "a", .value = datum(2, "rrggbb", 7)},
                  {.key = "b", .value = datum(1, "rgb", 8)},
                  {.key = "c", .value = datum(2, "RRGGBB", 9)}});
  const TemporaryFolder folder;
  const auto source = open_loose(folder.write("d", file.bytes));
  REQUIRE(source->count() == 3);
  CHECK(source->schema().fields[0].array == ArrayType{ArrayElement::uint8, {3, 1, 2}});
  CHECK(source->schema().fields[0].channels_first);
  CHECK(source->info(0).label == 7);
  CHECK(source->info(2).label == 9);
  Sample sample;
  source->read(sample, 2);
  CHECK(text_of(sample.fields[0]) == "RRGGBB");
  CHECK_THROWS_WITH_AS(source->read(sample, 1),
                       doctest::Contains("the first one is uint8 (3, 1, 2)"), SampleError);
  CHECK(source->bytes(1) == 0);
}

TEST_CASE("lmdb: a label that the index changes is no label") {
  LmdbMaker file(1, 2, 2);
  file.add(true,
           {{.key = "a", .value = "\x08\x03\x10\x01\x18\x01" + inner(4, "rgb") + "\x28\x07"}});
  const TemporaryFolder folder;
  const std::string path = folder.write("d", file.bytes);
  open_loose(path);
  forge_first_label(path, "lmdb");
  const auto source = open_loose(path);
  Sample sample;
  CHECK_THROWS_WITH_AS(source->read(sample, 0),
                       doctest::Contains("the label of the record is 7, and 8 in the index"),
                       SampleError);
}

TEST_CASE("lmdb: any change of a byte gives values inside the file or a fault") {
  Random random({.seed = test_seed()}, 0);
  const std::string bytes = good().bytes;
  int faults = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string changed = bytes;
    for (int k = between(random, 1, 3); k > 0; --k) {
      changed[random.below(changed.size())] = static_cast<char>(random.below(256));
    }
    faults += walk(changed) != "good";
  }
  CHECK(faults > 0);
}

}  // namespace tundish
