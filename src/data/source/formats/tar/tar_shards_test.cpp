// Several .tar archives as one dataset.
#include <doctest/doctest.h>

#include "base/temporary_folder.h"
#include "data/source/disk_cache/file_times.h"
#include "data/source/formats/tar/tar_maker.h"
#include "data/source/labels.h"
#include "data/source/open.h"
#include "data/source/views/pattern.h"

namespace tundish {
namespace {

using Texts = std::vector<std::string>;

Texts keys_of(const Source& source) {
  Texts keys;
  for (std::uint64_t i = 0; i < source.count(); ++i) keys.push_back(source.key(i));
  return keys;
}

std::vector<std::int64_t> labels_of(const Source& source) {
  std::vector<std::int64_t> labels;
  for (std::uint64_t i = 0; i < source.count(); ++i) labels.push_back(source.info(i).label);
  return labels;
}

std::string image_of(const Source& source, std::uint64_t i) {
  Sample sample;
  source.read(sample, i);
  return text_of(sample.fields[0]);
}

std::string error_of(const std::string& path) {
  try {
    open_loose(path);
  } catch (const Error& error) {
    return error_name(error.code()) + " " + error.where().file + ": " + error.reason();
  }
  return "none";
}

std::string named(const Texts& classes, const std::string& key, const std::string& label) {
  return TarMaker()
      .pax("comment", class_list_text(classes), 'g')
      .add(key + ".jpg", key)
      .add(key + ".cls", label)
      .end();
}

}  // namespace

TEST_CASE("tar shards: a folder and a pattern are one dataset") {
  const TemporaryFolder folder;
  folder.write("d/s-1.tar", TarMaker().add("c.jpg", "C").add("c.cls", "2").end());
  folder.write("d/s-0.tar", TarMaker()
                                .add("a.jpg", "A")
                                .add("a.cls", "0")
                                .add("b.jpg", "B")
                                .add("b.cls", "1")
                                .add("b.txt", "text")
                                .end());
  folder.write("d/notes.json", "{}");
  for (const std::string& path :
       {folder / "d", folder / "d/s-{0..1}.tar", folder / "d/*.tar", folder / "d/s-?.tar"}) {
    CAPTURE(path);
    const auto source = open_loose(path);
    CHECK(source->path() == path);
    CHECK(source->random_access());
    CHECK(keys_of(*source) == Texts{"a.jpg", "b.jpg", "c.jpg"});
    CHECK(labels_of(*source) == std::vector<std::int64_t>{0, 1, 2});
    CHECK(source->schema().fields.size() == 3);
    for (std::uint64_t i = 0; i < 3; ++i) CHECK(image_of(*source, i) == std::string(1, "ABC"[i]));
    CHECK(source->where(2).file == folder / "d/s-1.tar");
    Extent extent;
    REQUIRE(source->extent(2, 0, extent));
    CHECK(extent.file == folder / "d/s-1.tar");
    CHECK(extent.offset == 512);
    Texts scanned;
    source->scan([&](std::uint64_t, Sample& sample) {
      scanned.push_back(text_of(sample.fields[0]));
      return true;
    });
    CHECK(scanned == Texts{"A", "B", "C"});
  }
  const std::string before = file_times(*open_loose(folder / "d/*.tar"));
  CHECK(before == file_times(*open_loose(folder / "d/*.tar")));
  CHECK(error_of(folder / "d/s-{0..2}.tar").starts_with("TND-301"));
  CHECK(error_of(folder / "d/t-*.tar").starts_with("TND-301"));
}

TEST_CASE("tar shards: labels are those of all archives together") {
  const TemporaryFolder folder;
  folder.write("d/0.tar", TarMaker().add("train/dog/1.jpg", "x").end());
  folder.write("d/1.tar", TarMaker().add("train/cat/1.jpg", "x").add("train/dog/2.jpg", "x").end());
  const auto folders = open_loose(folder / "d");
  CHECK(folders->schema().classes == Texts{"cat", "dog"});
  CHECK(labels_of(*folders) == std::vector<std::int64_t>{1, 0, 1});
  folder.write("e/0.tar", TarMaker().add("1.jpg", "x").add("1.cls", "dog").end());
  folder.write("e/1.tar", TarMaker().add("2.jpg", "x").add("2.cls", "cat").end());
  const auto names = open_loose(folder / "e");
  CHECK(names->schema().classes == Texts{"cat", "dog"});
  CHECK(labels_of(*names) == std::vector<std::int64_t>{1, 0});
}

TEST_CASE("tar shards: names of classes that archives list must be the same") {
  const TemporaryFolder folder;
  folder.write("0.tar", named({"cat", "dog"}, "a", "1"));
  folder.write("1.tar", named({"cat", "dog"}, "b", "0"));
  folder.write("2.tar", named({"dog", "cat"}, "c", "0"));
  CHECK(open_loose(folder / "{0..1}.tar")->schema().classes == Texts{"cat", "dog"});
  CHECK(error_of(folder / "{0..2}.tar")
            .starts_with("TND-" + error_name(ErrorCode::label_unreadable).substr(4) + " " +
                         (folder / "2.tar") + ": it names other classes"));
}

TEST_CASE("tar shards: a name in two archives is two samples, a sample torn in one is refused") {
  const TemporaryFolder folder;
  folder.write("0.tar", TarMaker().add("x/1.jpg", "A").add("y/1.jpg", "B").end());
  folder.write("1.tar.gz.tar", TarMaker().add("x/1.jpg", "C").end());
  const auto source = open_loose(folder / "{0.tar,1.tar.gz.tar}");
  CHECK(keys_of(*source) == Texts{"0/x/1.jpg", "0/y/1.jpg", "1.tar.gz/x/1.jpg"});
  CHECK(source->schema().classes == Texts{"x", "y"});  // from the inner folders
  CHECK(image_of(*source, 2) == "C");
  folder.write("2.tar", TarMaker().add("q.jpg", "x").add("r.jpg", "x").add("q.txt", "x").end());
  CHECK(error_of(folder / "{0.tar,2.tar}").find((folder / "2.tar") + ": 'q' comes again") !=
        std::string::npos);
}

TEST_CASE("tar shards: archives of one name have different keys") {
  const TemporaryFolder folder;
  const std::string one = TarMaker().add("1.jpg", "x").end();
  for (const char* name : {"a/s-0.tar", "b/s-0.tar", "a/s-0.tar.old.tar"}) folder.write(name, one);
  CHECK(keys_of(*open_loose(folder / "{a,b}/s-0.tar")) == Texts{"a/s-0/1.jpg", "b/s-0/1.jpg"});
  folder.write("c/s.tar", one);
  folder.write("c/s.tgz", one);  // not gzip, judged by its bytes
  CHECK(keys_of(*open_loose(folder / "c/s.t*")) == Texts{"s.tar/1.jpg", "s.tgz/1.jpg"});
}

TEST_CASE("tar shards: a label that is no number among numbers names its archive") {
  const TemporaryFolder folder;
  folder.write("0.tar", TarMaker().add("1.jpg", "x").add("1.cls", "7").end());
  folder.write("1.tar", TarMaker().add("2.jpg", "x").add("2.cls", "3x").end());
  CHECK(error_of(folder / "{0..1}.tar")
            .starts_with(error_name(ErrorCode::label_unreadable) + " " + (folder / "1.tar") +
                         ": '2.cls': the label '3x' is no number"));
}

TEST_CASE("tar shards: what is wrong names its archive") {
  const TemporaryFolder folder;
  const std::string good = TarMaker().add("1.jpg", "x").add("1.cls", "1").end();
  folder.write("0.tar", good);
  folder.write("1.tar", TarMaker().add("2.jpg", "x").end());
  CHECK(error_of(folder / "{0..1}.tar").find((folder / "1.tar") + ": '2.jpg' has no .cls") !=
        std::string::npos);
  folder.write("1.tar", good.substr(0, 700));
  CHECK(error_of(folder / "{0..1}.tar").find(folder / "1.tar") != std::string::npos);
  folder.write("1.tar", "");
  CHECK(error_of(folder / "{0..1}.tar")
            .starts_with(error_name(ErrorCode::file_empty) + " " + (folder / "1.tar")));
  CHECK(error_of(folder / "{0.tar,pattern.csv}").starts_with("TND-301"));
}

TEST_CASE("tar shards: a folder of several sets is refused, a pattern chooses") {
  const TemporaryFolder folder;
  const std::string one = TarMaker().add("1.jpg", "x").end();
  for (const char* name : {"d/train-0.tar", "d/train-1.tar", "d/val-0.tar"})
    folder.write(name, one);
  CHECK(error_of(folder / "d").find("several sets (train-..., val-...)") != std::string::npos);
  CHECK(open_loose(folder / "d/train-*.tar")->count() == 2);
  CHECK(open_loose(folder / "d/*.tar")->count() == 3);
}

TEST_CASE("tar shards: more archives than may be open") {
  const TemporaryFolder folder;
  const std::size_t archives = kMaxOpenFiles + 10;
  for (std::size_t i = 0; i < archives; ++i) {
    folder.write(fmt::format("d/{:03}.tar", i),
                 TarMaker().add(fmt::format("{}.jpg", i), fmt::format("image {}", i)).end());
  }
  const auto source = open_loose(folder / "d");
  REQUIRE(source->count() == archives);
  CHECK(image_of(*source, 0) == "image 0");
  CHECK(image_of(*source, archives - 1) == fmt::format("image {}", archives - 1));
  std::filesystem::remove(folder / fmt::format("d/{:03}.tar", archives - 1));
  CHECK_THROWS_AS(image_of(*source, archives - 1), SampleError);
}

}  // namespace tundish
