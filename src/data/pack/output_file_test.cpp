#include "data/pack/output_file.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "base/temporary_folder.h"
#include "data/source/memory_source.h"

namespace tundish {
namespace {

std::string contents(const std::string& path) {
  std::vector<std::byte> bytes;
  read_file(bytes, path, 1000);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::size_t files_in(const TemporaryFolder& folder) {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    files += !entry.path().empty();
  }
  return files;
}

ErrorCode code_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode::none;
}

}  // namespace

TEST_CASE("a file appears complete, and nothing stays beside it") {
  const TemporaryFolder folder;
  {
    OutputFile file(folder / "a.tnd", false);
    file.write_at(bytes_of("hello"), 0);
    CHECK_FALSE(std::filesystem::exists(folder / "a.tnd"));
    file.commit(5);
  }
  CHECK(contents(folder / "a.tnd") == "hello");
  CHECK(files_in(folder) == 1);
}

TEST_CASE("without commit the old file is as it was and nothing is left") {
  const TemporaryFolder folder;
  folder.write("a.tnd", "old");
  {
    OutputFile file(folder / "a.tnd", true);
    file.write_at(bytes_of("new"), 0);
  }
  CHECK(contents(folder / "a.tnd") == "old");
  CHECK(files_in(folder) == 1);
}

TEST_CASE("an existing file is replaced only when asked to") {
  const TemporaryFolder folder;
  folder.write("a.tnd", "old");
  CHECK(code_of([&] { OutputFile(folder / "a.tnd", false); }) == ErrorCode::output_exists);
  OutputFile file(folder / "a.tnd", true);
  file.write_at(bytes_of("new"), 0);
  file.commit(3);
  CHECK(contents(folder / "a.tnd") == "new");
}

TEST_CASE("a file that appeared meanwhile is not replaced") {
  const TemporaryFolder folder;
  {
    OutputFile file(folder / "a.tnd", false);
    file.write_at(bytes_of("new"), 0);
    folder.write("a.tnd", "other");
    CHECK(code_of([&] { file.commit(3); }) == ErrorCode::output_exists);
  }
  CHECK(contents(folder / "a.tnd") == "other");
  CHECK(files_in(folder) == 1);
}

TEST_CASE("a target that is no regular file is never replaced") {
  const TemporaryFolder folder;
  CHECK(code_of([&] { OutputFile(folder.path(), true); }) == ErrorCode::argument);
  CHECK(code_of([&] { OutputFile(folder.path() + "/", true); }) == ErrorCode::argument);
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK(code_of([&] { OutputFile(folder / "pipe", true); }) == ErrorCode::argument);
  CHECK(code_of([&] { OutputFile(folder / "no/such/folder", true); }) == ErrorCode::source_missing);
}

TEST_CASE("through a link the file is replaced, not the link") {
  const TemporaryFolder folder;
  folder.write("real/a.tnd", "old");
  REQUIRE(::symlink((folder / "real/a.tnd").c_str(), (folder / "link.tnd").c_str()) == 0);
  OutputFile file(folder / "link.tnd", true);
  file.write_at(bytes_of("new"), 0);
  file.commit(3);
  CHECK(std::filesystem::is_symlink(folder / "link.tnd"));
  CHECK(contents(folder / "real/a.tnd") == "new");
}

TEST_CASE("temporary files of ended runs are removed, those of running ones are not") {
  const TemporaryFolder folder;
  folder.write(".a.tnd.tmp.999999999", "of a killed process");
  folder.write(".a.tnd.tmp." + std::to_string(::getpid()), "of a process that had our number");
  folder.write(".b.tnd.tmp.999999999", "of another target");
  folder.write(".a.tnd.tmp.mine", "of somebody else");
  OutputFile first(folder / "a.tnd", true);
  CHECK_FALSE(std::filesystem::exists(folder / ".a.tnd.tmp.999999999"));
  CHECK(std::filesystem::exists(folder / ".b.tnd.tmp.999999999"));
  CHECK(std::filesystem::exists(folder / ".a.tnd.tmp.mine"));
  OutputFile second(folder / "a.tnd", true);  // while the first one is open
  first.write_at(bytes_of("first"), 0);
  second.write_at(bytes_of("second"), 0);
  first.commit(5);
  CHECK(contents(folder / "a.tnd") == "first");
  second.commit(6);
  CHECK(contents(folder / "a.tnd") == "second");
  CHECK(files_in(folder) == 3);
}

TEST_CASE("a long name leaves room for the temporary one") {
  const TemporaryFolder folder;
  const std::string name = std::string(251, 'x') + ".tnd";
  OutputFile file(folder / name, false);
  file.commit(0);
  CHECK(std::filesystem::exists(folder / name));
}

}  // namespace tundish
