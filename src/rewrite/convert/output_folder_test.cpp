#include "rewrite/convert/output_folder.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/file.h>

#include <filesystem>
#include <fstream>

#include "base/temporary_folder.h"

namespace tundish {
namespace {

namespace fs = std::filesystem;

Bytes bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

ErrorCode code_of_write(OutputFolder& folder, const std::string& name, const std::string& text) {
  try {
    folder.write(name, bytes_of(text));
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode::none;
}

}  // namespace

TEST_CASE("names that lead out of the folder are refused") {
  const std::string zero("a\0b", 3);
  for (const std::string& name :
       {std::string(), std::string("/etc/passwd"), std::string("../a"), std::string("a/../../b"),
        std::string("a//b"), std::string("a/"), std::string("."), std::string("a/./b"), zero,
        std::string(300, 'x'), std::string(".tundish-unpack-1")}) {
    CAPTURE(name);
    REQUIRE(check_name(name));
    CHECK(check_name(name)->code == ErrorCode::name_unsafe);
  }
  for (const std::string name : {"a", "a/b.jpg", "..a/b..", "\n \xff", "a/...", "-rf"}) {
    CAPTURE(name);
    CHECK_FALSE(check_name(name));
  }
}

TEST_CASE("a link inside the folder is not followed out of it") {
  const TemporaryFolder temporary;
  fs::create_directories(temporary / "outside");
  fs::create_directories(temporary / "out");
  fs::create_directory_symlink(temporary / "outside", temporary / "out/link");
  OutputFolder folder(temporary / "out", true);
  CHECK(code_of_write(folder, "link/a.jpg", "x") == ErrorCode::name_unsafe);
  CHECK(fs::is_empty(temporary / "outside"));
}

TEST_CASE("a link in the place of a file is replaced, not written through") {
  const TemporaryFolder temporary;
  const std::string victim = temporary.write("victim", "old");
  fs::create_directories(temporary / "out");
  fs::create_symlink(victim, temporary / "out/a.jpg");
  OutputFolder careful(temporary / "out", false);
  CHECK(code_of_write(careful, "a.jpg", "new") == ErrorCode::output_exists);
  OutputFolder folder(temporary / "out", true);
  CHECK(folder.write("a.jpg", bytes_of("new")));
  CHECK(read(victim) == "old");
  CHECK(read(temporary / "out/a.jpg") == "new");
  CHECK_FALSE(fs::is_symlink(temporary / "out/a.jpg"));
}

TEST_CASE("an existing file with the same bytes is kept, one with other bytes is not overwritten") {
  const TemporaryFolder temporary;
  OutputFolder folder(temporary / "new/out", false);
  CHECK(folder.write("k/a.jpg", bytes_of("one")));
  CHECK_FALSE(folder.write("k/a.jpg", bytes_of("one")));
  CHECK(code_of_write(folder, "k/a.jpg", "two") == ErrorCode::output_exists);
  CHECK(read(temporary / "new/out/k/a.jpg") == "one");
  OutputFolder forced(temporary / "new/out", true);
  CHECK(forced.write("k/a.jpg", bytes_of("two")));
  CHECK(code_of_write(forced, "k", "x") == ErrorCode::name_unsafe);
  CHECK(code_of_write(forced, "k/a.jpg/b", "x") == ErrorCode::name_unsafe);
  folder.sync();
}

TEST_CASE("temporary files of killed runs are removed, those of running ones are not") {
  const TemporaryFolder temporary;
  temporary.write("out/k/.tundish-unpack-999999999", "half");
  const std::string living = temporary.write("out/k/.tundish-unpack-1", "its writer locks it");
  const File lock(::open(living.c_str(), O_RDWR | O_CLOEXEC), living);
  REQUIRE(::flock(lock.descriptor(), LOCK_EX | LOCK_NB) == 0);
  OutputFolder folder(temporary / "out", false);
  folder.write("k/a.jpg", bytes_of("one"));
  CHECK_FALSE(fs::exists(temporary / "out/k/.tundish-unpack-999999999"));
  CHECK(fs::exists(temporary / "out/k/.tundish-unpack-1"));
}

}  // namespace tundish
