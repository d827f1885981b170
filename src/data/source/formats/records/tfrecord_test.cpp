#include "data/source/formats/records/tfrecord.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "base/temporary_folder.h"
#include "data/source/formats/records/forged_index.h"
#include "data/source/formats/records/tf_class_names.h"
#include "data/source/formats/records/tfrecord_maker.h"
#include "data/source/open.h"
#include "data/source/views/pattern.h"

namespace tundish {
namespace {

const std::string kPng = std::string("\x89PNG\r\n\x1a\n") + "pixels";

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string sample_with(std::int64_t label, const std::string& png = kPng) {
  return tf_record(tf_example({{"image/encoded", bytes_list({png})},
                               {"image/class/label", int64_list({label}, label % 2 == 0)},
                               {"box", float_list({1, 2, static_cast<float>(label)}, label > 5)},
                               {"name", bytes_list({"n" + std::to_string(label)})},
                               {"raw", bytes_list({"\xff\xfe"})}}));
}

// Reads field `name` of sample i.
std::string field(const Source& source, std::uint64_t i, const std::string& name) {
  Sample sample;
  source.read(sample, i);
  for (std::size_t f = 0; f < source.schema().fields.size(); ++f) {
    if (source.schema().fields[f].name == name) return text_of(sample.fields[f]);
  }
  return "no field";
}

std::string error_of(const std::string& path, const SourceOptions& options = {}) {
  try {
    open_tfrecord(path, options);
  } catch (const Error& error) {
    return error_name(error.code()) + " " + error.reason();
  }
  return "none";
}

std::string sample_error(const Source& source, std::uint64_t i) {
  try {
    Sample sample;
    source.read(sample, i);
  } catch (const SampleError& error) {
    return error.reason();
  }
  return "none";
}

}  // namespace

TEST_CASE("tfrecord: names of classes") {
  TfClassNames names;
  std::string reason;
  CHECK(names.names(reason).empty());
  CHECK(reason.empty());
  names.add(3, "2");
  names.add(0, "a 1 b");
  names.add(-1, "none");
  names.add(1, "");
  names.add(3, "2");
  const std::vector<std::string> wanted = {"a 1 b", "1", "2_", "2"};
  CHECK(names.names(reason) == wanted);
  const auto again = TfClassNames::parse(names.text());
  REQUIRE(again);
  CHECK(again->names(reason) == wanted);
  const std::string text = names.text();
  for (std::size_t size = 1; size < text.size(); ++size) {  // truncated: fewer names, or none
    const auto part = TfClassNames::parse(text.substr(0, size));
    if (part) CHECK(part->names(reason).size() <= 1);
  }
  TfClassNames twice = names;
  twice.add(7, "2");
  CHECK(twice.names(reason).empty());
  CHECK(reason == "labels 3 and 7 are both '2'");
  const auto refused = [&](std::int64_t label, const std::string& name) {
    TfClassNames other;
    other.add(label, name);
    TfClassNames all = names;
    all.add(other);
    CHECK(all.names(reason).empty());
    CHECK(TfClassNames::parse(all.text())->text() == all.text());
    return reason;
  };
  CHECK(refused(0, "b") == "label 0 is 'a 1 b' and 'b'");
  TfClassNames any_bytes = names;
  any_bytes.add(4, "\xff");
  CHECK(any_bytes.names(reason) == std::vector<std::string>{"a 1 b", "1", "2_", "2", "\xff"});
  CHECK(reason.empty());
  CHECK(refused(TfClassNames::kMaxNames, "x") == "there are too many");
  CHECK(refused(5, std::string(TfClassNames::kMaxTextBytes + 1, 'x')) == "there are too many");
}

TEST_CASE("tfrecord: features become fields, packed or not") {
  const TemporaryFolder folder;
  const std::string path = folder.write("a", sample_with(4) + sample_with(7));
  for (int round = 0; round < 2; ++round) {  // the second round uses the index beside the file
    const auto source = open_loose(path);
    REQUIRE(source->count() == 2);
    const std::vector<Field> fields = {
        {"image", FieldType::image},
        {"label", FieldType::label},
        {"box", FieldType::array, ArrayType{ArrayElement::float32, {3}}},
        {"name", FieldType::text},
        {"raw", FieldType::bytes}};
    CHECK(source->schema().fields == fields);
    CHECK(source->info(0).label == 4);
    CHECK(source->info(1).label == 7);
    CHECK(source->key(1) == "00000001");
    CHECK(field(*source, 1, "image") == kPng);
    CHECK(field(*source, 1, "box") == raw(1.0f) + raw(2.0f) + raw(7.0f));
    CHECK(field(*source, 0, "box") == raw(1.0f) + raw(2.0f) + raw(4.0f));
    CHECK(field(*source, 0, "name") == "n4");
    CHECK(source->bytes(0) == kPng.size() + 12 + 2 + 2);
    CHECK(std::filesystem::exists(folder / ".a.tndx"));
  }
}

TEST_CASE("tfrecord: a label that the index changes is no label") {
  const TemporaryFolder folder;
  const std::string path = folder.write("a", sample_with(4) + sample_with(7));
  open_loose(path);
  forge_first_label(path, "tfrecord");
  const auto source = open_loose(path);
  CHECK(source->info(0).label == 5);
  CHECK(sample_error(*source, 0).starts_with("the label of the record is 4, and 5 in the index"));
  CHECK(sample_error(*source, 1) == "none");
}

TEST_CASE("tfrecord: lists that differ in length carry their shape; sequences have a side more") {
  const TemporaryFolder folder;
  const auto step = [](const std::string& feature) { return inner(1, feature); };
  const auto record = [&](const std::vector<std::int64_t>& ids, const std::string& more) {
    const TfNamed context = {{"ids", int64_list(ids)}, {"img", bytes_list({kPng})}};
    const TfNamed lists = {{"track", step(float_list({1, 2})) + step(float_list({3, 4})) + more},
                           {"t", step(int64_list({-1})) + step(int64_list({9}))}};
    return tf_record(inner(1, tf_map(context)) + inner(2, tf_map(lists)));
  };
  const auto source =
      open_loose(folder.write("a", record({1, 2}, "") + record({}, "") + record({3}, "")));
  CHECK(source->schema().fields[1] == Field{"ids", FieldType::array});
  CHECK(source->schema().fields[2].array == ArrayType{ArrayElement::int64, {2}});
  CHECK(source->schema().fields[3].array == ArrayType{ArrayElement::float32, {2, 2}});
  CHECK(field(*source, 0, "ids") ==
        npy_head({ArrayElement::int64, {2}}) + raw(std::int64_t{1}) + raw(std::int64_t{2}));
  CHECK(field(*source, 1, "ids") == npy_head({ArrayElement::int64, {0}}));
  CHECK(field(*source, 0, "track") == raw(1.0f) + raw(2.0f) + raw(3.0f) + raw(4.0f));
  CHECK(field(*source, 0, "t") == raw(std::int64_t{-1}) + raw(std::int64_t{9}));
  CHECK(source->bytes(1) == field(*source, 1, "ids").size() + kPng.size() + 32);
  // Steps of different widths are omitted with a warning.
  const auto ragged = open_loose(folder.write("b", record({1}, step(float_list({5})))));
  REQUIRE(ragged->warnings().size() == 2);
  CHECK(ragged->warnings()[0].find("its samples have no labels") != std::string::npos);
  CHECK(ragged->warnings()[1].ends_with(
      "feature 'track' is left out: its steps differ in their numbers of values"));
}

TEST_CASE("tfrecord: NAME/shape is the shape of NAME") {
  const TemporaryFolder folder;
  const auto record = [](const std::vector<float>& x, const std::vector<std::int64_t>& shape,
                         const std::vector<std::int64_t>& other = {3, 1}) {
    return tf_record(tf_example({{"x", float_list(x)},
                                 {"x/shape", int64_list(shape)},
                                 {"y", int64_list({1, 2, 3, 4})},
                                 {"y/shape", int64_list(other)},
                                 {"label", int64_list({1})}}));
  };
  const auto same =
      open_loose(folder.write("a", record({1, 2, 3, 4}, {2, 2}) + record({5, 6, 7, 8}, {2, 2})));
  const std::vector<Field> fields = {
      {"label", FieldType::label},
      {"x", FieldType::array, ArrayType{ArrayElement::float32, {2, 2}}},
      {"y", FieldType::array, ArrayType{ArrayElement::int64, {4}}},
      {"y/shape", FieldType::array, ArrayType{ArrayElement::int64, {2}}}};  // does not fit y
  CHECK(same->schema().fields == fields);
  CHECK(field(*same, 1, "x") == raw(5.0f) + raw(6.0f) + raw(7.0f) + raw(8.0f));
  const auto own =
      open_loose(folder.write("b", record({1, 2, 3, 4}, {2, 2}) + record({1, 2, 3, 4}, {4, 1}) +
                                       record({1, 2, 3}, {1, 3})));
  CHECK(own->schema().fields[1] == Field{"x", FieldType::array});
  CHECK(field(*own, 1, "x").starts_with(npy_head({ArrayElement::float32, {4, 1}})));
  CHECK(field(*own, 2, "x").starts_with(npy_head({ArrayElement::float32, {1, 3}})));
  CHECK(own->bytes(2) == field(*own, 2, "x").size() + 32 + 16);
  // Shapes that do not match the number of values: NAME/shape stays a feature.
  for (const std::vector<std::int64_t>& shape :
       {std::vector<std::int64_t>{2, 3}, {-2, -2}, {0}, {1ll << 62, 4}, {4, 0}}) {
    const auto plain = open_loose(folder.write("c", record({1, 2, 3, 4}, shape)));
    CHECK(plain->schema().fields[1].array == ArrayType{ArrayElement::float32, {4}});
    CHECK(plain->schema().fields[2].name == "x/shape");
  }
  // A later record whose shape does not fit is one bad sample.
  std::string late;
  for (int i = 0; i < 64; ++i) late += record({1, 2}, {2, 1});
  const auto bad = open_loose(folder.write("d", late + record({1, 2}, {3, 1})));
  CHECK(sample_error(*bad, 64) ==
        "TFRecord: feature 'x' has no shape beside it that fits its values");
}

TEST_CASE("tfrecord: more files than may be open") {
  const TemporaryFolder folder;
  const int files = static_cast<int>(kMaxOpenFiles) + 5;
  for (int i = 0; i < files; ++i) folder.write(fmt::format("d/t-{:03}", i), sample_with(i));
  const auto source = open_loose(folder / "d");
  REQUIRE(source->count() == static_cast<std::uint64_t>(files));
  const auto last = static_cast<std::uint64_t>(files - 1);
  CHECK(field(*source, 0, "name") == "n0");
  CHECK(field(*source, last, "name") == fmt::format("n{}", last));
  CHECK(source->where(last).file == folder / fmt::format("d/t-{:03}", last));
  std::filesystem::remove(folder / fmt::format("d/t-{:03}", last));
  CHECK(sample_error(*source, last) != "none");
}

TEST_CASE("tfrecord: a pattern chooses files") {
  const TemporaryFolder folder;
  folder.write("d/train-0", sample_with(0));
  folder.write("d/train-1", sample_with(1));
  folder.write("d/test-0", sample_with(2));
  const auto source = open_loose(folder / "d/train-*");
  REQUIRE(source->count() == 2);
  CHECK(source->path() == folder / "d/train-*");
  CHECK(source->key(1) == "train-1/00000000");
  CHECK(source->info(1).label == 1);
}

TEST_CASE("tfrecord: a bad record is one bad sample") {
  const TemporaryFolder folder;
  std::string bytes;
  for (int i = 0; i < 64; ++i) bytes += sample_with(i);
  const std::size_t damaged = bytes.size();
  bytes += sample_with(64);
  bytes[damaged + 20] = static_cast<char>(bytes[damaged + 20] ^ 1);
  bytes += tf_record("no message");
  bytes += tf_record(tf_example({{"image/encoded", bytes_list({kPng})},
                                 {"box", float_list({1, 2})},
                                 {"image/class/label", int64_list({5})}}));
  bytes += tf_record(tf_example({{"box", float_list({1, 2, 3})}}));
  bytes += tf_record(tf_example({{"image/encoded", int64_list({1})}}));
  bytes += sample_with(70);
  const auto source = open_loose(folder.write("a", bytes));
  REQUIRE(source->count() == 70);
  CHECK(sample_error(*source, 64)
            .starts_with("TFRecord: the checksum of a record's data is wrong: stored "));
  CHECK(sample_error(*source, 65).starts_with("TFRecord: no tf.train.Example: "));
  CHECK(sample_error(*source, 66) ==
        "TFRecord: feature 'box' is float32 (2,), in the first records it is float32 (3,)");
  CHECK(sample_error(*source, 67) == "TFRecord: feature 'image/encoded' is missing");
  CHECK(sample_error(*source, 68) ==
        "TFRecord: feature 'image/encoded' is a int64_list, in the first records it is a "
        "bytes_list");
  for (int i = 64; i < 69; ++i) CHECK(source->bytes(static_cast<std::uint64_t>(i)) == 0);
  CHECK(source->info(69).label == 70);
  CHECK(sample_error(*source, 69) == "none");
}

TEST_CASE("tfrecord: a damaged file is refused with the place") {
  const TemporaryFolder folder;
  const std::string one = sample_with(1);
  const std::string cut = one + one.substr(0, one.size() - 1);
  CHECK(
      error_of(folder.write("a", cut)).starts_with("TND-314 TFRecord: the last record is cut off"));
  CHECK(
      error_of(folder.write("b", one + "1234567"))
          .starts_with("TND-314 TFRecord: the head of the last record is cut off: 7 bytes of 12"));
  std::string wrong = one + one;
  wrong[one.size() + 3] = 1;
  CHECK(error_of(folder.write("c", wrong))
            .starts_with("TND-314 TFRecord: the checksum of a record's length is wrong"));
  // A forged length with a correct checksum.
  const std::string huge = raw(~std::uint64_t{0});
  CHECK(error_of(folder.write("d", huge + raw(masked_crc(huge)) + "abc"))
            .starts_with("TND-314 TFRecord: the last record is cut off"));
  CHECK(error_of(folder.write("e", tf_record("abc"))).starts_with("TND-314 TFRecord: no tf.train"));
  CHECK(error_of(folder.write("f", "")) == "TND-302 it has no record");
}

TEST_CASE("tfrecord: the user names image and label") {
  const TemporaryFolder folder;
  const auto record = tf_record(tf_example({{"left", bytes_list({kPng})},
                                            {"right", bytes_list({kPng})},
                                            {"label", int64_list({1})},
                                            {"id", int64_list({8})}}));
  const std::string path = folder.write("a", record);
  CHECK(error_of(path) == "TND-318 several could be the image: left, right");
  const auto source = open_loose(path, {.format = {}, .image = "right", .label = "id"});
  CHECK(source->info(0).label == 8);
  CHECK(source->schema().fields[2].name == "label_feature");
  CHECK(error_of(path, {.format = {}, .image = "right", .label = "left"})
            .starts_with("TND-318 'left' cannot be"));
}

TEST_CASE("tfrecord: names of files are keys, descriptions of the image are no fields") {
  const TemporaryFolder folder;
  const auto record = [](const std::string& name, const std::string& text, bool described = true) {
    std::vector<std::pair<std::string, std::string>> features = {
        {"image/encoded", bytes_list({kPng})},
        {"image/class/label", int64_list({1})},
        {"image/class/text", bytes_list({text})},
        {"image/filename", bytes_list({name})},
        {"score", float_list({1})}};
    if (described) {
      features.insert(features.end(), {{"image/format", bytes_list({"png"})},
                                       {"image/height", int64_list({1})},
                                       {"image/width", int64_list({1})}});
    }
    return tf_record(tf_example(features));
  };
  const auto names = [](const Source& source) {
    std::string out;
    for (const Field& field : source.schema().fields) out += field.name + " ";
    return out;
  };
  const std::string path = folder.write("a", record("c/1.png", "dog") + record("c/2.png", "dog"));
  for (int again = 0; again < 2; ++again) {  // the second round uses the index
    const auto source = open_tfrecord(path, {});
    CHECK(names(*source) == "image label score ");
    CHECK(source->key(1) == "c/2.png");
    CHECK(source->schema().classes.back() == "dog");
  }
  folder.write("b", record("c/1.png", "dog") + record("./c/1.png", "dog"));  // the same name
  folder.write("c", record("1.png", "dog") + record("2.png", "cat"));        // two names, one label
  folder.write("d", record("1.png", "dog", false) + record("2.png", "dog", false));
  folder.write("e", record("1.png", "dog") + record("", "dog"));
  const std::string all =
      "image label image/class/text image/filename image/format image/height image/width score ";
  for (int again = 0; again < 2; ++again) {
    const auto b = open_tfrecord(folder / "b", {}), c = open_tfrecord(folder / "c", {});
    const auto d = open_tfrecord(folder / "d", {}), e = open_tfrecord(folder / "e", {});
    CHECK((names(*b) == all && b->key(1) == "00000001"));
    CHECK((names(*c) == all && c->key(1) == "2.png" && c->schema().classes.empty()));
    CHECK(names(*d) == "image label image/class/text image/filename score ");
    CHECK(d->key(1) == "2.png");
    CHECK((names(*e) == all && e->key(0) == "00000000"));
  }
  folder.write("f/x-0", record("1.png", "dog"));
  folder.write("f/x-1", record("1.png", "dog"));
  CHECK(open_loose(folder / "f")->key(1) == "x-1/00000000");
  folder.write("f/x-1", record("2.png", "dog"));
  CHECK(open_loose(folder / "f")->key(1) == "2.png");
}

TEST_CASE("tfrecord: a folder of files is one dataset") {
  const TemporaryFolder folder;
  folder.write("d/train-00001-of-00003", sample_with(2));
  folder.write("d/train-00000-of-00003", sample_with(0) + sample_with(1));
  folder.write("d/info.json", "{}");
  const auto source = open_loose(folder / "d");
  REQUIRE(source->count() == 3);
  CHECK(source->info(2).label == 2);
  CHECK(source->key(0) == "train-00000-of-00003/00000000");
  CHECK(source->path() == folder / "d");
  CHECK(source->warnings().at(0).ends_with("2 of the 3 files of train-*-of-00003 exist"));
  folder.write("d/test-00000-of-00001", sample_with(3));
  const std::string refused = error_of(folder / "d");
  CHECK(
      refused.starts_with("TND-315 TFRecord: the folder holds several sets (test-*-of-00001, "
                          "train-*-of-00003); say which by a pattern, such as '"));
  CHECK(refused.ends_with("/d/test-*-of-00001*'"));
  const auto some = open_loose(folder / "d/train-*");
  REQUIRE(some->count() == 3);
  CHECK(some->warnings().at(0).ends_with("d/train-*: 2 of the 3 files of train-*-of-00003 exist"));
}

TEST_CASE("tfrecord: names that differ by more than numbers are several sets") {
  const TemporaryFolder folder;
  const auto write = [&](const std::string& name) { folder.write(name, sample_with(1)); };
  for (const char* name : {"k/ld_train00-2071.tfrec", "k/ld_train01-2098.tfrec"}) write(name);
  CHECK(open_loose(folder / "k")->count() == 2);
  for (const char* name : {"a/train.tfrecord", "a/test.tfrecord", "b/t-00000-of-00001",
                           "b/val.tfrecord", "c/t-00000-of-00001", "c/t-00000-of-00002"}) {
    write(name);
  }
  for (const char* name : {"a", "b", "c"}) {
    CHECK(error_of(folder / name).starts_with("TND-315 TFRecord: the folder holds several sets"));
  }
  CHECK(open_loose(folder / "c/t-*-of-00001*")->count() == 1);
}

TEST_CASE("tfrecord: files of one name in two folders have different keys") {
  const TemporaryFolder folder;
  for (const char* name : {"a/t-0", "b/t-0"}) folder.write(name, sample_with(1));
  const auto source = open_loose(folder / "{a,b}/t-0");
  CHECK(source->key(0) == "a/t-0/00000000");
  CHECK(source->key(1) == "b/t-0/00000000");
  CHECK_THROWS_AS(open_loose(folder / "{a/t-0,a/t-0}"), Error);
}

}  // namespace tundish
