#include "data/source/side_index.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "base/file.h"
#include "base/temporary_folder.h"
#include "data/source/memory_source.h"

namespace tundish {
namespace {

std::string text_of(const std::optional<std::vector<std::byte>>& bytes) {
  if (!bytes) return "nothing";
  return {reinterpret_cast<const char*>(bytes->data()), bytes->size()};
}

}  // namespace

TEST_CASE("an index comes back for the file it was made of, and for no other") {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.rec", "some data");
  const FileStamp stamp = stamp_of(path);
  CHECK(stamp.size == 9);
  CHECK_FALSE(load_side_index(path, stamp, "rec", 1));
  save_side_index(path, stamp, "rec", 1, bytes_of("content"));
  CHECK(text_of(load_side_index(path, stamp, "rec", 1)) == "content");
  CHECK_FALSE(load_side_index(path, stamp, "rec", 2));
  CHECK_FALSE(load_side_index(path, stamp, "tfrecord", 1));
  FileStamp other = stamp;
  CHECK(load_side_index(path, other, "rec", 1));
  ++other.size;
  CHECK_FALSE(load_side_index(path, other, "rec", 1));
  other = stamp;
  ++other.changed_ns;
  CHECK_FALSE(load_side_index(path, other, "rec", 1));
  other = stamp;
  ++other.status_changed_ns;
  CHECK_FALSE(load_side_index(path, other, "rec", 1));
  other = stamp;
  ++other.inode;
  CHECK_FALSE(load_side_index(path, other, "rec", 1));
  // A copy of the index, placed beside another file of the same size and time.
  std::vector<std::byte> index;
  read_file(index, folder / ".a.rec.tndx", 1000);
  CHECK_FALSE(open_side_index(index, folder / "b.rec", stamp, "rec", 1));
  CHECK(open_side_index(index, "elsewhere/a.rec", stamp, "rec", 1));  // the folder was moved
}

TEST_CASE("an index of a file that changed meanwhile is not written") {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.rec", "some data");
  const FileStamp stamp = stamp_of(path);
  folder.write("a.rec", "more data than before");
  save_side_index(path, stamp, "rec", 1, bytes_of("content"));
  CHECK_FALSE(load_side_index(path, stamp, "rec", 1));
  CHECK_FALSE(std::filesystem::exists(folder / ".a.rec.tndx"));
}

TEST_CASE("an index is not used after a write that kept size and modification time") {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.rec", "some data");
  struct stat before;
  REQUIRE(::stat(path.c_str(), &before) == 0);
  save_side_index(path, stamp_of(path), "rec", 1, bytes_of("content"));
  REQUIRE(load_side_index(path, stamp_of(path), "rec", 1));
  folder.write("a.rec", "SOME DATA");
  const timespec times[] = {before.st_atim, before.st_mtim};
  REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
  CHECK_FALSE(load_side_index(path, stamp_of(path), "rec", 1));
}

TEST_CASE("an index that every user may write is not used") {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.rec", "some data");
  save_side_index(path, stamp_of(path), "rec", 1, bytes_of("content"));
  REQUIRE(load_side_index(path, stamp_of(path), "rec", 1));
  REQUIRE(::chmod((folder / ".a.rec.tndx").c_str(), 0666) == 0);
  CHECK_FALSE(load_side_index(path, stamp_of(path), "rec", 1));
}

TEST_CASE("an index of a user who owns neither the data nor the process is not used") {
  if (::geteuid() != 0) return;  // only root can change the owner of a file
  constexpr uid_t kOther = 12345;
  const TemporaryFolder folder;
  const std::string path = folder.write("a.rec", "some data");
  save_side_index(path, stamp_of(path), "rec", 1, bytes_of("content"));
  REQUIRE(::chown((folder / ".a.rec.tndx").c_str(), kOther, static_cast<gid_t>(-1)) == 0);
  CHECK_FALSE(load_side_index(path, stamp_of(path), "rec", 1));
  REQUIRE(::chown(path.c_str(), kOther, static_cast<gid_t>(-1)) == 0);
  save_side_index(path, stamp_of(path), "rec", 1, bytes_of("content"));
  REQUIRE(::chown((folder / ".a.rec.tndx").c_str(), kOther, static_cast<gid_t>(-1)) == 0);
  CHECK(load_side_index(path, stamp_of(path), "rec", 1));  // both belong to that user
}

TEST_CASE("every changed bit and every cut of an index is noticed") {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.rec", "some data");
  const FileStamp stamp = stamp_of(path);
  save_side_index(path, stamp, "rec", 1, bytes_of("content"));
  std::vector<std::byte> index;
  read_file(index, folder / ".a.rec.tndx", 1000);
  REQUIRE(open_side_index(index, path, stamp, "rec", 1));
  for (std::size_t i = 0; i < index.size(); ++i) {
    CHECK_FALSE(open_side_index(Bytes(index).first(i), path, stamp, "rec", 1));
    for (int bit = 0; bit < 8; ++bit) {
      index[i] ^= static_cast<std::byte>(1 << bit);
      CHECK_FALSE(open_side_index(index, path, stamp, "rec", 1));
      index[i] ^= static_cast<std::byte>(1 << bit);
    }
  }
}

}  // namespace tundish
