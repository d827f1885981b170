#include "data/source/views/merge.h"

#include <doctest/doctest.h>

#include <cmath>
#include <set>

#include "data/source/memory_source.h"
#include "data/source/views/key_hash.h"
#include "data/source/views/split.h"

namespace tundish {
namespace {

std::shared_ptr<MemorySource> some(std::uint64_t count, const std::string& folder) {
  auto out = std::make_shared<MemorySource>(image_source(count, 8));
  for (auto& item : out->items) item.key = folder + item.key.substr(3);
  return out;
}

std::string refusal(const std::vector<std::shared_ptr<const Source>>& sources) {
  try {
    merge_sources(sources, false);
  } catch (const Error& error) {
    return error.reason();
  }
  return "";
}

std::string wrong_split(const char* text) {
  try {
    parse_split(text);
  } catch (const Error& error) {
    return error.reason();
  }
  return "";
}

}  // namespace

TEST_CASE("classes are merged by name, and labels get the new numbers") {
  const auto first = some(6, "a"), second = some(6, "b");
  second->schema_.classes = {"emu", "fox", "cat"};
  const Merge merge = merge_sources({first, second}, false);
  CHECK(merge.source->schema().classes == std::vector<std::string>{"cat", "dog", "emu", "fox"});
  CHECK(merge.relabeled == 6);
  CHECK(merge.renamed.empty());
  REQUIRE(merge.source->count() == 12);
  for (std::uint64_t i = 0; i < 12; ++i) {
    const MemorySource& from = i < 6 ? *first : *second;
    const std::uint64_t number = i % 6;
    CHECK(merge.source->key(i) == from.items[number].key);
    const auto label = static_cast<std::size_t>(merge.source->info(i).label);
    const auto before = static_cast<std::size_t>(from.items[number].label);
    CHECK(merge.source->schema().classes[label] == from.schema_.classes[before]);
    Sample sample;
    merge.source->read(sample, i, kAllFields);
    CHECK(sample.fields == from.items[number].fields);
  }
  const Merge turned = merge_sources({second, first}, false);
  CHECK(turned.source->fingerprint() != merge.source->fingerprint());
}

TEST_CASE("a label without a name is not given the name of another source's class") {
  const auto first = some(4, "a"), second = some(4, "b");
  const auto classes = static_cast<std::int64_t>(first->schema_.classes.size());
  first->items[1].label = classes;
  CHECK(refusal({first, second}).empty());  // no source names the label
  second->schema_.classes = {"emu", "fox", "cat"};
  for (const auto& sources : {std::vector<std::shared_ptr<const Source>>{first, second},
                              std::vector<std::shared_ptr<const Source>>{second, first}}) {
    CHECK(refusal(sources).find("have no name for it, and after merging it would be ") !=
          std::string::npos);
  }
}

TEST_CASE("a key that came before is refused, or gets a name that no other sample has") {
  const auto first = some(3, "a"), second = some(3, "a");
  second->items[0].key = "a/0-2.npy";
  CHECK(refusal({first, second})
            .find("2 of its keys came before; the first, 'a/1.npy', is sample 1") == 0);
  first->items[2].key = "a/1-2.npy";
  second->items[2].key = "a/.hidden";
  first->items[0].key = "a/.hidden";
  const Merge merge = merge_sources({first, second}, true);
  REQUIRE(merge.renamed.size() == 2);
  CHECK(merge.renamed[0].before == "a/1.npy");
  CHECK(merge.renamed[0].now == "a/1-3.npy");
  CHECK(merge.renamed[1].now == "a/.hidden-2");
  std::set<std::string> keys;
  for (std::uint64_t i = 0; i < 6; ++i) keys.insert(merge.source->key(i));
  CHECK(keys.size() == 6);
}

TEST_CASE("sources whose fields or kinds of labels differ are not merged") {
  const auto first = some(2, "a"), second = some(2, "b");
  second->schema_.classes.clear();
  CHECK(refusal({first, second}).find("only numbers") != std::string::npos);
  second->schema_.classes = first->schema_.classes;
  second->schema_.fields.push_back({"camera", FieldType::text});
  CHECK(refusal({first, second}).find("field 2 is missing there and camera (text) here") !=
        std::string::npos);
}

TEST_CASE("the part of a sample depends on its key alone, and the shares are kept") {
  const auto parts = parse_split("train=0.7,val=20%,test=0.1");
  REQUIRE(parts.size() == 3);
  CHECK(parts[1] == SplitPart{"val", 0.2});
  const auto few = some(1000, "a"), many = some(3000, "a");
  const auto a = split_numbers(*few, parts, 5), b = split_numbers(*many, parts, 5);
  std::size_t sum = 0;
  for (std::size_t p = 0; p < 3; ++p) {
    sum += b[p].size();
    CHECK(std::equal(a[p].begin(), a[p].end(), b[p].begin()));
    CHECK(std::abs(static_cast<double>(b[p].size()) / 3000 - parts[p].share) < 0.04);
  }
  CHECK(sum == 3000);
  CHECK(split_numbers(*few, parts, 6) != a);
  // Constants: a split must never change between versions.
  CHECK(key_hash("split", 0, "cat/1.jpg") == 0x32db867e5af8c797u);
  CHECK(key_hash("split", 7, "cat/1.jpg") == 0x9d4e072492d2bc0fu);
  CHECK(part_of_key(parse_split("a=0.5,b=0.5"), 0, "cat/1.jpg") ==
        part_of_key(parse_split("c=50%,d=50%"), 0, "cat/1.jpg"));
}

TEST_CASE("parts that cannot be understood say why") {
  CHECK(wrong_split("train").find("'train' is no part") == 0);
  CHECK(wrong_split("train=1").find("one part is no split") == 0);
  CHECK(wrong_split("train=0.5,val=0.4").find("the shares add up to 0.9") == 0);
  CHECK(wrong_split("a=0.5,a=0.5").find("two parts are called 'a'") == 0);
  CHECK(wrong_split("a=x,b=0.5").find("the share of 'a=x'") == 0);
  CHECK(wrong_split("../a=0.5,b=0.5").find("'../a' cannot be part of a file's name") == 0);
  CHECK(wrong_split(",").find("'' is no part") == 0);
}

TEST_CASE("classes with equal names stay apart when datasets are merged") {
  const auto a = some(3, "a/"), b = some(3, "b/");
  a->schema_.classes = {"crane", "x", "crane"};
  b->schema_.classes = {"crane", "crane", "y", "crane"};
  for (std::uint64_t i = 0; i < 3; ++i) {
    a->items[i].label = static_cast<std::int64_t>(i);
    b->items[i].label = static_cast<std::int64_t>(i) + 1;
  }
  const Merge merge = merge_sources({a, b}, false);
  CHECK(merge.source->schema().classes ==
        std::vector<std::string>{"crane", "x", "crane", "y", "crane"});
  std::vector<std::int64_t> labels;
  for (std::uint64_t i = 0; i < 6; ++i) labels.push_back(merge.source->info(i).label);
  CHECK(labels == std::vector<std::int64_t>{0, 1, 2, 2, 3, 4});
}

}  // namespace tundish
