#include "base/file.h"

#include <doctest/doctest.h>

#include <cerrno>

#include "base/temporary_folder.h"

namespace tundish {
namespace {

ErrorCode code_of_open(const std::string& path) {
  try {
    File::open(path);
  } catch (const Error& error) {
    CHECK(error.where().file == path);
    return error.code();
  }
  return ErrorCode::none;
}

}  // namespace

TEST_CASE("a file that cannot be opened for reading gives an error with the reason and the fix") {
  const TemporaryFolder folder;
  const std::string file = folder.write("a.tnd", "hello");
  CHECK(code_of_open(file) == ErrorCode::none);
  CHECK(code_of_open(folder / "missing") == ErrorCode::source_missing);
  CHECK(code_of_open(file + "/below a file") == ErrorCode::source_missing);
  CHECK(code_of_open(folder.path()) == ErrorCode::source_unreadable);
  CHECK(code_of_open(folder / std::string(300, 'x')) == ErrorCode::io_read);  // ENAMETOOLONG
}

TEST_CASE("the same errno gives another error when writing") {
  CHECK(code_of_errno(ENOTDIR, false) == ErrorCode::source_missing);
  CHECK(code_of_errno(ENOTDIR, true) == ErrorCode::argument);
  CHECK(code_of_errno(EIO, false) == ErrorCode::io_read);
  CHECK(code_of_errno(EIO, true) == ErrorCode::io_write);
  for (const bool writing : {false, true}) {
    CHECK(code_of_errno(ENOENT, writing) == ErrorCode::source_missing);
    for (const int number : {EACCES, EPERM, EROFS}) {
      CHECK(code_of_errno(number, writing) == ErrorCode::no_permission);
    }
    for (const int number : {ENOSPC, EDQUOT, EFBIG}) {
      CHECK(code_of_errno(number, writing) == ErrorCode::disk_full);
    }
    CHECK(code_of_errno(ENOMEM, writing) == ErrorCode::no_memory);
  }
}

}  // namespace tundish
