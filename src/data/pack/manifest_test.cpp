#include "data/pack/manifest.h"

#include <doctest/doctest.h>

#include <filesystem>

#include "data/pack/open.h"
#include "data/pack/test_pack.h"

namespace tundish {
namespace {

std::string reason_of(std::string_view json) {
  Manifest out;
  const auto fault = parse_manifest(out, json);
  return fault ? fault->reason : "";
}

std::string with_shards(const std::string& shards, int records = 5) {
  return fmt::format(R"({{"format":"tundish shards 1","records":{},"shards":[{}]}})", records,
                     shards);
}

std::string shard(const std::string& name, int records = 5) {
  return fmt::format(R"({{"bytes":10,"id":"ab","name":"{}","records":{}}})", name, records);
}

// A manifest with shards of 3 and 4 samples.
std::string two_shards(const TemporaryFolder& folder) {
  pack(folder / "a-0.tnd", image_source(3, 9, 1));
  pack(folder / "a-1.tnd", image_source(4, 9, 2));
  write_manifest(folder / "a.tnds",
                 {{describe_shard(folder / "a-0.tnd"), describe_shard(folder / "a-1.tnd")}}, false);
  return folder / "a.tnds";
}

}  // namespace

TEST_CASE("a manifest that is written is read back") {
  Manifest in{{{"a b.tnd", 3, 100, "00ff"}, {"\xff\"\n.tnd", 4, 200, "11"}}}, out;
  CHECK_FALSE(parse_manifest(out, manifest_json(in)));
  CHECK(out.shards == in.shards);
}

TEST_CASE("a manifest that is wrong is refused with the reason") {
  CHECK(reason_of(with_shards(shard("a.tnd"))) == "");
  CHECK(reason_of("").starts_with("it is no JSON"));
  CHECK(reason_of("[]") == "it is a list");
  CHECK(reason_of("7") == "a value has the wrong type");
  CHECK(reason_of("{}") == "it does not name its format");
  CHECK(reason_of(R"({"format":"tundish shards 2"})").starts_with("its format is"));
  CHECK(reason_of(R"({"format":"tundish shards 1"})").starts_with("it does not say how many"));
  CHECK(reason_of(with_shards("", 0)) == "it lists no shard");
  CHECK(reason_of(with_shards("7")) == "a shard is no object");
  CHECK(reason_of(with_shards("{}")).starts_with("a shard has no name"));
  CHECK(reason_of(with_shards(R"({"bytes":"10"})")) == "a value has the wrong type");
  CHECK(reason_of(with_shards(shard("a.tnd", 4))) == "it has 5 records, its shards have 4");
  CHECK(reason_of(with_shards(shard("a.tnd") + ',' + shard("a.tnd"), 10)) ==
        "a.tnd is listed twice");
  for (const char* name : {"../a.tnd", "/etc/passwd", "", ".", "..", "b/a.tnd"}) {
    CHECK(reason_of(with_shards(shard(name))).ends_with("is no file beside it"));
  }
  CHECK(reason_of(std::string(100, '[')) == "it is a list");
  CHECK(reason_of(R"({"x":)" + std::string(100, '[')) == "it is nested too deeply");
  CHECK(reason_of(with_shards(R"({"new":[{"deep":1}],)" + shard("a.tnd").substr(1))) == "");
}

TEST_CASE("a manifest opens as one source") {
  const TemporaryFolder folder;
  const auto source = open_source(two_shards(folder));
  CHECK(source->count() == 7);
  CHECK(source->path() == folder / "a.tnds");
  Sample sample, expected;
  source->read(sample, 4);
  Pack::open(folder / "a-1.tnd")->read(expected, 1);
  CHECK(sample.fields == expected.fields);
}

TEST_CASE("a shard that is missing or another one is named") {
  const TemporaryFolder folder;
  const std::string manifest = two_shards(folder);
  const auto message = [&] {
    try {
      open_source(manifest);
    } catch (const Error& error) {
      CHECK(error.where().file == folder / "a-1.tnd");
      return error_name(error.code()) + ' ' + error.reason();
    }
    return std::string("none");
  };
  std::filesystem::remove(folder / "a-1.tnd");
  CHECK(message() == "TND-111 the file does not exist; " + manifest + " lists it, with 4 records");
  pack(folder / "a-1.tnd", image_source(4, 9, 3));
  CHECK(message().starts_with("TND-111"));
  pack(folder / "a-1.tnd", image_source(5, 9, 2), {.replace = true});
  CHECK(message().starts_with("TND-111"));
  folder.write("a-1.tnd", "no pack");
  CHECK(message().starts_with("TND-101"));
}

TEST_CASE("shards with other classes do not open as one") {
  const TemporaryFolder folder;
  MemorySource other = image_source(4, 9);
  other.schema_.classes[0] = "lion";
  pack(folder / "a-0.tnd", image_source(3, 9));
  pack(folder / "a-1.tnd", other);
  write_manifest(folder / "a.tnds",
                 {{describe_shard(folder / "a-0.tnd"), describe_shard(folder / "a-1.tnd")}}, false);
  CHECK_THROWS_WITH_AS(open_source(folder / "a.tnds"), doctest::Contains("'lion'"), Error);
}

}  // namespace tundish
