#include "cli/samples/sample_set.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "base/error.h"
#include "base/temporary_folder.h"
#include "cli/samples/sample_image.h"
#include "codec/decode/test_images.h"

namespace tundish {
namespace {

// Returns the contents of every file by its path below the folder.
std::map<std::string, std::string> files_of(const std::string& folder) {
  std::map<std::string, std::string> out;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    out[std::filesystem::relative(entry.path(), folder).string()] =
        std::string(std::istreambuf_iterator<char>(file), {});
  }
  return out;
}

}  // namespace

TEST_CASE("a sample set is the same for any number of threads, and another for another seed") {
  TemporaryFolder one, two, three;
  const SampleSetOptions options{.count = 7, .classes = 3, .seed = 5, .threads = 1};
  SampleSetOptions more = options;
  more.threads = 3;
  SampleSetOptions other = options;
  other.seed = 6;
  const std::uint64_t bytes = make_sample_set(one.path(), options);
  CHECK(make_sample_set(two.path(), more) == bytes);
  make_sample_set(three.path(), other);
  CHECK(files_of(one.path()) == files_of(two.path()));
  CHECK(files_of(one.path()) != files_of(three.path()));
}

TEST_CASE("every image of a sample set decodes, and the classes are balanced") {
  TemporaryFolder folder;
  make_sample_set(folder.path(), {.count = 16, .classes = 8});
  std::map<std::string, int> classes;
  for (const auto& [name, text] : files_of(folder.path())) {
    ++classes[std::filesystem::path(name).parent_path().string()];
    CHECK(fault_of(bytes_of(text)) == ErrorCode::none);
    CHECK(text.size() > 15'000);
    CHECK(text.size() < 300'000);
  }
  CHECK(classes.size() == 8);
  for (const auto& [name, count] : classes) CHECK(count == 2);
}

TEST_CASE("every class of a sample set has its own name") {
  std::set<std::string> names;
  for (int label = 0; label < kMaxSampleClasses; ++label) names.insert(sample_class_name(label));
  CHECK(names.size() == kMaxSampleClasses);
}

TEST_CASE("an impossible sample set is refused, and one that cannot be written gives the reason") {
  TemporaryFolder folder;
  CHECK_THROWS_AS(make_sample_set(folder.path(), {.count = 10, .classes = 0}), Error);
  CHECK_THROWS_AS(make_sample_set(folder.path(), {.count = 1, .classes = 2}), Error);
  CHECK_THROWS_AS(make_sample_set(folder.path(), {.count = 99, .classes = 51}), Error);
  std::ofstream(folder.path() + "/file") << "x";
  CHECK_THROWS_AS(make_sample_set(folder.path() + "/file/set", {.count = 2, .classes = 1}), Error);
}

TEST_CASE("making a sample set can be stopped") {
  TemporaryFolder folder;
  const std::atomic<bool> stop = true;
  try {
    make_sample_set(folder.path(), {.count = 1000, .stop = &stop});
    FAIL("was not stopped");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::interrupted);
  }
}

}  // namespace tundish
