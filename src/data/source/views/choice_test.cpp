#include "data/source/views/choice.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <regex>
#include <set>

#include "base/testing.h"
#include "data/source/memory_source.h"
#include "data/source/views/filter.h"
#include "data/source/views/glob.h"
#include "data/source/views/key_hash.h"
#include "data/source/views/selected.h"

namespace tundish {
namespace {

std::string why(const std::string& text) {
  std::vector<FilterClause> clauses;
  const auto fault = parse_filter(clauses, text);
  return fault ? fault->reason : "";
}

std::vector<FilterClause> clauses(const std::string& text) {
  std::vector<FilterClause> out;
  REQUIRE_FALSE(parse_filter(out, text));
  return out;
}

std::vector<std::string> keys(const Source& source) {
  std::vector<std::string> out;
  for (std::uint64_t i = 0; i < source.count(); ++i) out.push_back(source.key(i));
  return out;
}

std::shared_ptr<MemorySource> some(std::uint64_t count) {
  return std::make_shared<MemorySource>(image_source(count, 40));
}

std::string refusal(const std::shared_ptr<MemorySource>& source, const Choice& choice) {
  try {
    choose(source, choice);
  } catch (const Error& error) {
    return error.reason();
  }
  return "";
}

// Reference implementation of matches_glob() by a regular expression, for letters and * ? only.
bool matches_reference(const std::string& pattern, const std::string& text) {
  std::string expression;
  for (const char c : pattern)
    expression += c == '*' ? "[^]*" : c == '?' ? "[^]" : std::string(1, c);
  return std::regex_match(text, std::regex(expression));
}

}  // namespace

TEST_CASE("a filter is read into its clauses") {
  using C = Comparison;
  CHECK(clauses("label=cat") == std::vector<FilterClause>{{"label", C::equal, "cat"}});
  CHECK(clauses(" width >= 64 and key ~ *.png") ==
        std::vector<FilterClause>{{"width", C::at_least, "64"}, {"key", C::matches, "*.png"}});
  CHECK(clauses("a!=\"x and y\" and b!~'' and c<=1") ==
        std::vector<FilterClause>{
            {"a", C::unequal, "x and y"}, {"b", C::differs, ""}, {"c", C::at_most, "1"}});
  CHECK(clauses("a=sand andes") == std::vector<FilterClause>{{"a", C::equal, "sand andes"}});
}

TEST_CASE("a filter that cannot be understood says why") {
  CHECK(why("") == "a clause such as label=cat is missing");
  CHECK(why("label").find("'label' is not compared with anything") == 0);
  CHECK(why("=cat").find("the name before the comparison is missing") == 0);
  CHECK(why("label=").find("the value of 'label' is missing") == 0);
  CHECK(why("label!cat").find("a comparison is one of") == 0);
  CHECK(why("label='cat") == "a quote does not end");
  CHECK(why("label='cat' x").find("after a quoted value") == 0);
  CHECK(why("label=cat or label=dog").find("there is no 'or'") == 0);
  CHECK(why("label=cat and ").find("after 'and'") == 0);
  CHECK(why("label=cat and").find("after 'and'") == 0);
}

TEST_CASE("patterns match as a regular expression does") {
  CHECK(matches_glob("*.png", "cat/1.png"));
  CHECK_FALSE(matches_glob("*.png", "cat/1.png2"));
  CHECK(matches_glob("[a-c]?[!x]", "bzy"));
  CHECK_FALSE(matches_glob("[a-c]?[!x]", "bzx"));
  CHECK(matches_glob("[]]", "]"));
  CHECK(matches_glob("a[", "a["));
  Random random({.seed = test_seed()}, 0);
  int matched = 0;
  for (int n = 0; n < 3000; ++n) {
    std::string pattern, text;
    for (auto k = random.below(6); k > 0; --k) pattern += "ab*?"[random.below(4)];
    for (auto k = random.below(6); k > 0; --k) text += "ab"[random.below(2)];
    CAPTURE(pattern);
    CAPTURE(text);
    matched += matches_reference(pattern, text);
    CHECK(matches_glob(pattern, text) == matches_reference(pattern, text));
  }
  CHECK(matched > 100);
}

TEST_CASE("filters choose by key, label, size and fields") {
  const auto source = some(60);
  source->schema_.fields.push_back({"camera", FieldType::text});
  source->schema_.fields.push_back({"grade", FieldType::number});
  for (std::size_t i = 0; i < source->items.size(); ++i) {
    const double grade = static_cast<double>(i) / 2;
    std::vector<std::byte> bytes(sizeof grade);
    std::memcpy(bytes.data(), &grade, sizeof grade);
    source->items[i].fields.push_back(bytes_of(i % 2 ? "left" : "right"));
    source->items[i].fields.push_back(bytes);
  }
  const auto left = [&](std::vector<std::string> filters) {
    return choose(source, {.filters = std::move(filters)}).source->count();
  };
  CHECK(left({"label=cat"}) == 20);
  CHECK(left({"label!=cat"}) == 40);
  CHECK(left({"label~*o*"}) == 20);
  CHECK(left({"label=2"}) == 20);
  CHECK(left({"label>=1"}) == 40);
  CHECK(left({"key~cat/?.npy"}) == 10);
  CHECK(left({"camera=left and grade<5"}) == 5);
  CHECK(left({"camera=left", "grade<5"}) == 5);
  CHECK(left({"codec=npy"}) == 60);
  std::uint64_t wide = 0;
  Sample sample;
  for (std::uint64_t i = 0; i < 60; ++i) {
    source->read(sample, i, kAllFields);
    const std::string head(reinterpret_cast<const char*>(sample.fields[0].data()), 128);
    std::smatch shape;
    REQUIRE(std::regex_search(head, shape, std::regex(R"(\((\d+), (\d+), 3\))")));
    wide += std::stoi(shape[2]) >= 20;
  }
  CHECK(left({"width>=20"}) == wide);
  source->by_number = false;
  CHECK(left({"width>=20"}) == wide);
}

TEST_CASE("samples without a label have the number -1, and are neither less nor more than others") {
  for (const bool named : {true, false}) {
    const auto source = some(60);
    for (std::size_t i = 0; i < 10; ++i) source->items[i].label = -1;
    if (!named) source->schema_.classes.clear();
    const auto left = [&](const std::string& filter) {
      return choose(source, {.filters = {filter}}).source->count();
    };
    CHECK(left("label!=-1") == 50);
    CHECK(left("label=-1") == 10);
    CHECK(left("label>=0") == 50);
    CHECK(left("label<3") == 50);
    CHECK(left("label!=2") + left("label=2") == 60);
    CHECK(refusal(source, {.filters = {"label<0"}}).starts_with("none of 60"));
  }
}

TEST_CASE("a filter for something that is not there is refused") {
  const auto source = some(6);
  CHECK(refusal(source, {.filters = {"label=cow"}})
            .find("no class is called 'cow'; there are: cat, dog, emu") != std::string::npos);
  CHECK(refusal(source, {.filters = {"size=3"}}).find("there is no 'size'") != std::string::npos);
  CHECK(refusal(source, {.filters = {"width=wide"}}).find("compared with a number") !=
        std::string::npos);
  CHECK(refusal(source, {.filters = {"width~1*"}}).find("compares texts") != std::string::npos);
  CHECK(refusal(source, {.filters = {"key<a"}}).find("is a text") != std::string::npos);
  CHECK(refusal(source, {.filters = {"key=a"}}).find("none of 6 samples") != std::string::npos);
  CHECK(refusal(source, {.subset = "x%"}).find("subset is a number") != std::string::npos);
}

TEST_CASE("a sample that cannot be read is left to the packer") {
  const auto source = some(6);
  source->items[3].fails = ErrorCode::io_read;
  const Chosen chosen = choose(source, {.filters = {"width>1000"}});
  REQUIRE(chosen.source->count() == 1);
  CHECK(chosen.source->key(0) == source->items[3].key);
}

TEST_CASE("a random sample stays when data are added, and has the size asked for") {
  const auto few = some(500), many = some(1000);
  const auto chosen = [&](const std::shared_ptr<MemorySource>& source, const char* size,
                          std::uint64_t seed) {
    return keys(*choose(source, {.subset = size, .seed = seed}).source);
  };
  const auto part = chosen(few, "20%", 1), more = chosen(many, "20%", 1);
  CHECK(part.size() > 60);
  CHECK(part.size() < 140);
  CHECK(std::equal(part.begin(), part.end(), more.begin()));
  CHECK(chosen(few, "20%", 2) != part);
  CHECK(chosen(few, "37", 1).size() == 37);
  CHECK(chosen(few, "9999", 1).size() == 500);
  CHECK(chosen(few, "100%", 1).size() == 500);
  CHECK(keys(*choose(few, {.limit = 3}).source) ==
        std::vector<std::string>{"cat/0.npy", "cat/1.npy", "cat/2.npy"});
}

TEST_CASE("duplicates are found as by comparing every pair") {
  Random random({.seed = test_seed()}, 0);
  const auto source = some(40);
  for (int n = 0; n < 25; ++n) {
    source->items[random.below(40)].fields[0] = source->items[random.below(40)].fields[0];
  }
  std::vector<Duplicate> expected;
  for (std::uint64_t i = 0; i < 40; ++i) {
    for (std::uint64_t before = 0; before < i; ++before) {
      if (source->items[i].fields[0] != source->items[before].fields[0]) continue;
      expected.push_back({i, before});
      break;
    }
  }
  REQUIRE_FALSE(expected.empty());
  const Chosen reported = choose(source, {.duplicates = Duplicates::report}, 3);
  CHECK(reported.duplicates == expected);
  CHECK(reported.source->count() == 40);
  source->by_number = false;
  const Chosen dropped = choose(source, {.duplicates = Duplicates::drop});
  CHECK(dropped.duplicates == expected);
  CHECK(dropped.source->count() == 40 - expected.size());
}

TEST_CASE("chosen samples are read by number and by a scan") {
  const auto source = some(10);
  const auto view = select_samples(source, {1, 4, 9});
  source->items[4].fails = ErrorCode::file_empty;
  CHECK(view->where(2).record == 9);
  CHECK_THROWS_AS(view->key(3), Error);
  std::vector<std::uint64_t> good, bad;
  view->scan(
      [&](std::uint64_t i, Sample& sample) {
        CHECK(sample.fields == source->items[i == 0 ? 1 : 9].fields);
        good.push_back(i);
        return true;
      },
      [&](std::uint64_t i, const SampleError&) {
        bad.push_back(i);
        return true;
      });
  CHECK(good == std::vector<std::uint64_t>{0, 2});
  CHECK(bad == std::vector<std::uint64_t>{1});
  CHECK(view->fingerprint() != select_samples(source, {1, 4, 8})->fingerprint());
}

}  // namespace tundish
