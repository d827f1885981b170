#include "data/source/formats/tar/tar.h"

#include <doctest/doctest.h>

#include "base/temporary_folder.h"
#include "data/source/formats/tar/tar_index.h"
#include "data/source/formats/tar/tar_maker.h"
#include "data/source/memory_stream.h"
#include "data/source/open.h"

namespace tundish {
namespace {

using Texts = std::vector<std::string>;

TarIndex index_of(const std::string& archive) {
  MemoryStream stream(bytes_of(archive));
  TarIndex index;
  const auto fault = index_tar(index, stream);
  REQUIRE_FALSE(fault);
  CHECK(index.first_part.size() == index.keys.size() + 1);
  CHECK(index.labels.size() == index.keys.size());
  return index;
}

Fault fault_of(const std::string& archive) {
  MemoryStream stream(bytes_of(archive));
  TarIndex index;
  return index_tar(index, stream).value_or(Fault{});
}

Texts keys_of(const TarIndex& index) {
  Texts keys;
  for (std::size_t i = 0; i < index.keys.size(); ++i) keys.emplace_back(index.keys[i]);
  return keys;
}

bool warns(const std::vector<std::string>& warnings, const std::string& text) {
  for (const std::string& warning : warnings) {
    if (warning.find(text) != std::string::npos) return true;
  }
  return false;
}

const std::vector<Field> kImageAndLabel = {{"image", FieldType::image},
                                           {"label", FieldType::label}};

}  // namespace

TEST_CASE("files that agree up to the first dot are one sample") {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.tar", TarMaker()
                                                     .add("x/1.JPG", "image 1")
                                                     .add("x/1.cls", "7\n")
                                                     .add("x/1.txt", "a text")
                                                     .add("x/1.mask.png", "mask")
                                                     .add("x/2.cls", " 3")
                                                     .add("x/2.box.npy", "array")
                                                     .add("x/2.png", "image 2")
                                                     .add("x/2.bin", "")
                                                     .end());
  const auto source = open_loose(path);
  CHECK(source->random_access());
  CHECK(source->schema().fields == std::vector<Field>{{"image", FieldType::image},
                                                      {"label", FieldType::label},
                                                      {"txt", FieldType::text},
                                                      {"mask.png", FieldType::bytes},
                                                      {"box.npy", FieldType::array},
                                                      {"bin", FieldType::bytes}});
  CHECK(source->schema().classes.empty());
  REQUIRE(source->count() == 2);
  CHECK(source->key(0) == "x/1.JPG");
  CHECK(source->info(0).label == 7);
  CHECK(source->info(1).label == 3);
  CHECK(source->bytes(0) == 7 + 6 + 4);
  Sample sample;
  source->read(sample, 0);
  REQUIRE(sample.fields.size() == 6);
  CHECK(text_of(sample.fields[0]) == "image 1");
  CHECK(text_of(sample.fields[2]) == "a text");
  CHECK(text_of(sample.fields[3]) == "mask");
  source->read(sample, 1);
  CHECK(text_of(sample.fields[0]) == "image 2");
  CHECK(sample.fields[2].empty());
  CHECK(text_of(sample.fields[4]) == "array");
  source->read(sample, 1, FieldSet{1} << 4);
  CHECK(sample.fields[0].empty());
  CHECK(text_of(sample.fields[4]) == "array");

  Extent extent;
  REQUIRE(source->extent(1, 0, extent));
  CHECK(extent.bytes == 7);
  CHECK(extent.offset % 512 == 0);
  CHECK_FALSE(source->extent(1, 2, extent));
}

TEST_CASE("an array is the image only where there is no other") {
  const TarIndex index =
      index_of(TarMaker().add("1.npy", "a").add("1.jpg", "b").add("2.npy", "c").end());
  CHECK(keys_of(index) == Texts{"1.jpg", "2.npy"});
  CHECK(index.schema.fields ==
        std::vector<Field>{{"image", FieldType::image}, {"npy", FieldType::array}});
}

TEST_CASE("of several images the archive's first kind is taken in every sample") {
  const TarIndex index = index_of(TarMaker()
                                      .add("1.seg.png", "a")
                                      .add("1.jpg", "b")
                                      .add("1.png", "c")
                                      .add("2.png", "d")
                                      .add("2.jpg", "e")
                                      .end());
  CHECK(keys_of(index) == Texts{"1.jpg", "2.jpg"});
}

TEST_CASE("labels that are names are sorted") {
  const TarIndex index = index_of(
      TarMaker().add("1.jpg", "x").add("1.cls", "dog").add("2.jpg", "x").add("2.cls", "cat").end());
  CHECK(index.schema.classes == Texts{"cat", "dog"});
  CHECK(index.labels == std::vector<std::int64_t>{1, 0});
}

TEST_CASE("without labels the folder is the class") {
  const TarIndex one = index_of(TarMaker().add("./photos/a.jpg", "x").end());
  CHECK(one.schema.classes == Texts{"photos"});
  CHECK(one.schema.fields == kImageAndLabel);
  CHECK(warns(one.warnings, "all samples have label 0, because all are in the folder photos"));

  const TarIndex two = index_of(
      TarMaker().add("dog/1.jpg", "x").add("cat/1.jpg", "x").add("cat/sub/1.jpg", "x").end());
  CHECK(two.schema.classes == Texts{"cat", "dog"});
  CHECK(two.labels == std::vector<std::int64_t>{1, 0, 0});

  const TarIndex below =
      index_of(TarMaker().add("set/train/dog/1.jpg", "x").add("set/train/cat/1.jpg", "x").end());
  CHECK(below.schema.classes == Texts{"cat", "dog"});
  CHECK(warns(below.warnings, "below set/train/"));

  const TarIndex none = index_of(TarMaker().add("1.jpg", "x").end());
  CHECK(none.schema.find(FieldType::label) == -1);
  CHECK(warns(none.warnings, "no labels: there are no .cls files and no folders"));
  const TarIndex mixed = index_of(TarMaker().add("cat/1.jpg", "x").add("2.jpg", "x").end());
  CHECK(mixed.schema.find(FieldType::label) == -1);
  CHECK(mixed.labels == std::vector<std::int64_t>{-1, -1});
  CHECK(warns(mixed.warnings, "no labels"));
}

TEST_CASE("members that are no sample are left out with a warning") {
  const TarIndex index = index_of(TarMaker()
                                      .add("README", "x")
                                      .add("LICENSE.txt", "x")
                                      .add("c/._1.jpg", "x")
                                      .add("c/1.jpg", "x")
                                      .add("c/2.jpg", "", '1')
                                      .end());
  CHECK(keys_of(index) == Texts{"c/1.jpg"});
  CHECK(index.schema.fields == kImageAndLabel);
  CHECK(warns(index.warnings, "2 files are left out"));
  CHECK(warns(index.warnings, "1 samples are left out"));
  CHECK(warns(index.warnings, "1 links are left out"));
}

TEST_CASE("files with names longer than any path are left out with a warning") {
  const std::string longest = std::string(3'996, 'a') + ".jpg";
  const std::string longer = std::string(3'997, 'b') + ".jpg";
  std::string deep;
  for (int i = 0; i < 500'000; ++i) deep += "c/";
  const TarIndex index = index_of(TarMaker(TarMaker::Format::gnu)
                                      .long_name(longest)
                                      .add("x", "1")
                                      .long_name(longer)
                                      .add("x", "2")
                                      .pax("path", deep + "1.jpg")
                                      .add("x", "3")
                                      .end());
  CHECK(keys_of(index) == Texts{longest});
  CHECK(warns(index.warnings,
              "2 files are left out, their names are longer than 4,000 bytes (first: bbb"));
  CHECK(index.warnings.front().size() < 200);
  const Fault fault =
      fault_of(TarMaker(TarMaker::Format::gnu).long_name(longer).add("x", "2").end());
  CHECK(fault.code == ErrorCode::source_empty);
  CHECK(fault.reason.find("longer than 4,000 bytes (first: bbb") != std::string::npos);
}

TEST_CASE("keys stay inside, whatever the archive says") {
  const TarIndex index = index_of(TarMaker()
                                      .add("/etc/1.jpg", "x")
                                      .add("../../c/2.jpg", "x")
                                      .add("c//./d/../3 \n\xff.jpg", "x")
                                      .end());
  CHECK(keys_of(index) == Texts{"etc/1.jpg", "c/2.jpg", "c/3 \n\xff.jpg"});
}

TEST_CASE("names that come twice are refused") {
  const auto code = [](const TarMaker& maker) { return fault_of(maker.end()).code; };
  CHECK(code(TarMaker().add("1.jpg", "x").add("1.jpg", "y")) == ErrorCode::tar_duplicate);
  CHECK(code(TarMaker().add("1.jpg", "x").add("1.JPG", "y")) == ErrorCode::tar_duplicate);
  CHECK(code(TarMaker().add("c/1.jpg", "x").add("c/../c/1.jpg", "y")) == ErrorCode::tar_duplicate);
  CHECK(code(TarMaker().add("1.jpg", "x").add("2.jpg", "x").add("1.txt", "y")) ==
        ErrorCode::tar_duplicate);
  CHECK(code(TarMaker().add("1.txt", "x").add("2.jpg", "x").add("1.jpg", "y")) ==
        ErrorCode::tar_duplicate);
  CHECK(code(TarMaker().add("r.txt", "x").add("2.jpg", "x").add("r.md", "y")) == ErrorCode::none);
  const Fault fault =
      fault_of(TarMaker().add("1.jpg", "x").add("2.jpg", "x").add("1.jpg", "").end());
  CHECK(fault.offset == 2560);
}

TEST_CASE("labels that are missing, empty, huge or broken are refused") {
  const auto code = [](const char* label) {
    return fault_of(TarMaker()
                        .add("1.jpg", "x")
                        .add("1.cls", "4")
                        .add("2.jpg", "x")
                        .add("2.cls", label)
                        .end())
        .code;
  };
  CHECK(code("5") == ErrorCode::none);
  CHECK(code("-1") == ErrorCode::none);
  CHECK(code("-2") == ErrorCode::label_unreadable);
  CHECK(code("1.5") == ErrorCode::label_unreadable);
  CHECK(code("99999999999999999999") == ErrorCode::label_unreadable);
  CHECK(code(" \n") == ErrorCode::label_unreadable);
  CHECK(code(std::string(5000, '1').c_str()) == ErrorCode::label_unreadable);
  const Fault fault =
      fault_of(TarMaker().add("1.jpg", "x").add("1.cls", "4").add("2.jpg", "x").end());
  CHECK(fault.code == ErrorCode::label_unreadable);
  CHECK(fault.reason == "'2.jpg' has no .cls file, but others have");
}

TEST_CASE("samples of more kinds than there may be fields are refused") {
  TarMaker maker;
  maker.add("1.jpg", "x");
  for (int n = 0; n < 63; ++n) maker.add("1.k" + std::to_string(n), "x");
  CHECK(fault_of(maker.end()).code == ErrorCode::tar_damaged);
  CHECK(fault_of(TarMaker().add("notes.txt", "x").end()).code == ErrorCode::source_empty);
}

TEST_CASE("kinds named as a field of ours keep apart from it") {
  const TarIndex index =
      index_of(TarMaker().add("1.jpg", "x").add("1.label", "y").add("1.", "").end());
  CHECK(index.schema.fields == std::vector<Field>{{"image", FieldType::image},
                                                  {".label", FieldType::bytes},
                                                  {".", FieldType::bytes}});
}

TEST_CASE("bad members of a tar are bad samples") {
  const TemporaryFolder folder;
  const std::string archive = TarMaker().add("1.jpg", "x").add("2.jpg", "").add("3.jpg", "z").end();
  const std::string path = folder.write("a.tar", archive);
  const auto source = open_tar(path);
  std::vector<std::uint64_t> good;
  std::vector<ErrorCode> bad;
  const auto scan = [&] {
    good.clear();
    bad.clear();
    source->scan(
        [&](std::uint64_t i, Sample&) { return good.push_back(i), true; },
        [&](std::uint64_t, const SampleError& e) { return bad.push_back(e.code()), true; });
  };
  scan();
  CHECK(good == std::vector<std::uint64_t>{0, 2});
  CHECK(bad == std::vector<ErrorCode>{ErrorCode::file_empty});
  folder.write("a.tar", archive.substr(0, 1600));
  scan();
  CHECK(good.empty());  // labels and places were read before the archive was written
  CHECK(bad == std::vector<ErrorCode>{ErrorCode::source_changed, ErrorCode::file_empty,
                                      ErrorCode::source_changed});
}

TEST_CASE("a tar that is empty, damaged or no tar is refused") {
  const TemporaryFolder folder;
  const auto code = [&](const char* name, const std::string& contents) {
    try {
      open_loose(folder.write(name, contents));
    } catch (const Error& error) {
      CHECK(error.where().file == folder / name);
      return error.code();
    }
    return ErrorCode::none;
  };
  CHECK(code("a.tar", "") == ErrorCode::file_empty);
  CHECK(code("a.tar", "not a tar") == ErrorCode::tar_damaged);
  CHECK(code("a.tar", TarMaker().add("1.jpg", "x").without_end()) == ErrorCode::tar_damaged);
  CHECK(code("a.bin", TarMaker().add("1.jpg", "x").end()) == ErrorCode::none);
  CHECK(code("a.bin", "not a tar") == ErrorCode::source_unknown);
}

}  // namespace tundish
