#include "data/source/formats/image_folder.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>

#include "base/temporary_folder.h"
#include "data/source/open.h"

namespace tundish {
namespace {

using Keys = std::vector<std::string>;

Keys keys_of(const Source& source) {
  Keys keys;
  for (std::uint64_t i = 0; i < source.count(); ++i) keys.push_back(source.key(i));
  return keys;
}

std::string text_of(const std::vector<std::byte>& bytes) {
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

bool warns(const Source& source, const std::string& text) {
  for (const std::string& warning : source.warnings()) {
    if (warning.find(text) != std::string::npos) return true;
  }
  return false;
}

ErrorCode code_of_read(const Source& source, std::uint64_t i) {
  Sample sample;
  try {
    source.read(sample, i);
  } catch (const SampleError& error) {
    CHECK(error.where().record == i);
    CHECK(error.where().key == source.key(i));
    return error.code();
  }
  return ErrorCode::none;
}

ErrorCode code_of_open(const std::string& path) {
  try {
    open_loose(path);
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode::none;
}

}  // namespace

TEST_CASE("an image folder has torchvision's order and labels") {
  const TemporaryFolder folder;
  // The result of torchvision 0.28's make_dataset for these files: it compares whole folder paths,
  // so "x-y" comes before "x/y", and capitals before small letters.
  const Keys expected = {"Z/1.jpg",          "a/2.JPG",         "a/b.jpg",
                         "a/x/1.png",        "a/x-y/1.png",     "a/x/y/0.tiff",
                         "d e\n/n\xff.jpeg", "\xc3\xa4/1.webp", "\xff/1.ppm"};
  for (const std::string& name : expected) folder.write(name, name);
  folder.write("a/notes.txt", "no image");
  const auto source = open_image_folder(folder.path());
  CHECK(keys_of(*source) == expected);
  CHECK(source->schema().classes == Keys{"Z", "a", "d e\n", "\xc3\xa4", "\xff"});
  CHECK(source->schema().fields ==
        std::vector<Field>{{"image", FieldType::image}, {"label", FieldType::label}});
  const std::vector<std::int64_t> labels = {0, 1, 1, 1, 1, 1, 2, 3, 4};
  for (std::size_t i = 0; i < labels.size(); ++i) CHECK(source->info(i).label == labels[i]);
  CHECK(warns(*source, "1 files are left out"));
}

TEST_CASE("a sample of an image folder is the bytes of its file") {
  const TemporaryFolder folder;
  folder.write("cat/1.jpg", "first");
  folder.write("cat/2.jpg", "the second");
  const auto source = open_loose(folder.path());
  Sample sample;
  source->read(sample, 1);
  REQUIRE(sample.fields.size() == 2);
  CHECK(text_of(sample.fields[0]) == "the second");
  CHECK(source->bytes(1) == 10);
  source->read(sample, 0, FieldSet{2});
  CHECK(sample.fields[0].empty());

  Extent extent;
  REQUIRE(source->extent(0, 0, extent));
  CHECK(extent.file == folder / "cat/1.jpg");
  CHECK(extent.bytes == 5);
  CHECK_FALSE(source->extent(0, 1, extent));
}

TEST_CASE("images directly in the folder are taken without labels") {
  const TemporaryFolder folder;
  folder.write("b.jpg", "b");
  folder.write("a.jpg", "a");
  std::filesystem::create_directory(folder / ".thumbnails");
  const auto source = open_image_folder(folder.path());
  CHECK(keys_of(*source) == Keys{"a.jpg", "b.jpg"});
  CHECK(source->schema().find(FieldType::label) == -1);
  CHECK(source->info(0).label == -1);
  CHECK(warns(*source, "no labels"));
}

TEST_CASE("a class folder without images keeps its number and is named") {
  const TemporaryFolder folder;
  folder.write("c/1.jpg", "c");
  std::filesystem::create_directory(folder / "b");
  const auto source = open_image_folder(folder.path());
  CHECK(source->info(0).label == 1);
  CHECK(source->schema().classes == Keys{"b", "c"});
  CHECK(warns(*source, "TND-305"));
}

TEST_CASE("links are followed, but not in circles") {
  const TemporaryFolder folder;
  folder.write("c/1.jpg", "c");
  folder.write("elsewhere/2.jpg", "e");
  std::filesystem::create_directory_symlink(folder / "elsewhere", folder / "c/link");
  std::filesystem::create_directory_symlink(folder / "c", folder / "c/loop");
  std::filesystem::create_directory_symlink("self", folder / "c/self");
  const auto source = open_image_folder(folder.path());
  CHECK(keys_of(*source) == Keys{"c/1.jpg", "c/link/2.jpg", "elsewhere/2.jpg"});
  CHECK(warns(*source, "c/loop: not followed"));
}

TEST_CASE("a file that is missing, empty, changed or no file is a bad sample, not a bad source") {
  const TemporaryFolder folder;
  folder.write("c/1.jpg", "fine");
  folder.write("c/2.jpg", "");
  std::filesystem::create_symlink("nowhere", folder / "c/3.jpg");
  REQUIRE(::mkfifo((folder / "c/4.jpg").c_str(), 0600) == 0);
  folder.write("c/5.jpg", "changes");
  folder.write("c/6.jpg", "goes away");
  const auto source = open_image_folder(folder.path());
  REQUIRE(source->count() == 6);
  folder.write("c/5.jpg", "changed");
  CHECK(code_of_read(*source, 4) == ErrorCode::none);
  folder.write("c/5.jpg", "another size");
  std::filesystem::remove(folder / "c/6.jpg");
  CHECK(code_of_read(*source, 0) == ErrorCode::none);
  CHECK(code_of_read(*source, 1) == ErrorCode::file_empty);
  CHECK(code_of_read(*source, 2) == ErrorCode::source_missing);
  CHECK(code_of_read(*source, 3) == ErrorCode::source_unreadable);
  CHECK(code_of_read(*source, 4) == ErrorCode::source_changed);
  CHECK(code_of_read(*source, 5) == ErrorCode::source_missing);

  std::vector<std::uint64_t> good, bad;
  source->scan([&](std::uint64_t i, Sample&) { return good.push_back(i), true; },
               [&](std::uint64_t i, const SampleError&) { return bad.push_back(i), true; });
  CHECK(good == std::vector<std::uint64_t>{0});
  CHECK(bad == std::vector<std::uint64_t>{1, 2, 3, 4, 5});
  CHECK_THROWS_AS(source->scan([](std::uint64_t, Sample&) { return true; }), SampleError);
}

TEST_CASE("a folder that is missing or holds no image is refused") {
  const TemporaryFolder folder;
  CHECK(code_of_open(folder / "nowhere") == ErrorCode::source_missing);
  CHECK(code_of_open(folder.path()) == ErrorCode::source_empty);
  folder.write("c/notes.txt", "x");
  CHECK(code_of_open(folder.path()) == ErrorCode::source_empty);
  CHECK(code_of_open(folder / "c/notes.txt") == ErrorCode::source_unknown);
  CHECK_THROWS_WITH_AS(open_image_folder(folder.path()),
                       doctest::Contains("of 1 files in it, none has a name"), Error);
  folder.write("c/volumes/raw/attributes.json", "{}");
  CHECK_THROWS_WITH_AS(open_image_folder(folder.path()), doctest::Contains("--format n5"), Error);
}

TEST_CASE("the fingerprint changes with names, labels and sizes, and with nothing else") {
  const TemporaryFolder folder;
  folder.write("a/1.jpg", "one");
  folder.write("b/1.jpg", "two");
  const std::string before = open_image_folder(folder.path())->fingerprint();
  CHECK(before.size() == 32);
  CHECK(open_image_folder(folder.path() + "/")->fingerprint() == before);
  folder.write("b/1.jpg", "three");
  const std::string size = open_image_folder(folder.path())->fingerprint();
  CHECK(size != before);
  std::filesystem::create_directory(folder / "aa");
  CHECK(open_image_folder(folder.path())->fingerprint() != size);
}

}  // namespace tundish
