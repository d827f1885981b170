#include "rewrite/convert/output_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <vector>

#include "base/temporary_file.h"
#include "data/source/names.h"

namespace tundish {
namespace {

constexpr std::string_view kPrefix = ".tundish-unpack-";

}  // namespace

std::optional<Fault> check_name(std::string_view name) {
  const auto bad = [&](const char* why, std::size_t at) {
    return Fault{ErrorCode::name_unsafe, fmt::format("the name {}", why), at};
  };
  if (name.empty()) return bad("is empty", 0);
  static_assert(kMaxKeyBytes == 4000);
  if (name.size() > kMaxKeyBytes) return bad("is longer than 4,000 bytes", kMaxKeyBytes);
  if (name.front() == '/') return bad("is absolute", 0);
  if (name.find('\0') != name.npos) return bad("contains a zero byte", name.find('\0'));
  for (std::size_t from = 0; from <= name.size();) {
    const std::size_t end = std::min(name.find('/', from), name.size());
    const std::string_view piece = name.substr(from, end - from);
    if (piece.empty()) return bad("has an empty piece", from);
    if (piece == "." || piece == "..") return bad("has a piece '.' or '..'", from);
    if (piece.size() > 255) return bad("has a piece longer than 255 bytes", from);
    if (piece.starts_with(kPrefix)) return bad("is one that unpacking uses itself", from);
    from = end + 1;
  }
  return std::nullopt;
}

OutputFolder::OutputFolder(const std::string& path, bool replace)
    : path_(path), replace_(replace), temporary_(fmt::format("{}{}", kPrefix, ::getpid())) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) {
    throw Error(code_of_errno(error.value(), true), {.file = path},
                fmt::format("making the folder: {}", error.message()));
  }
  root_ = File(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC), path);
  if (!root_.is_open()) fail("", "opening the folder");
  enter("");
}

void OutputFolder::fail(const std::string& name, const char* doing) const {
  throw_errno(name.empty() ? path_ : path_ + '/' + name, doing, true);
}

void OutputFolder::enter(std::string_view folder) {
  if (current_.is_open() && folder == current_name_) return;
  File at(::openat(root_.descriptor(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), path_);
  if (!at.is_open()) fail("", "opening the folder");
  for (std::size_t from = 0; from < folder.size();) {
    const std::size_t end = std::min(folder.find('/', from), folder.size());
    const std::string piece(folder.substr(from, end - from));
    const std::string so_far(folder.substr(0, end));
    if (::mkdirat(at.descriptor(), piece.c_str(), 0777) != 0 && errno != EEXIST) {
      fail(so_far, "making the folder");
    }
    File next(
        ::openat(at.descriptor(), piece.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
        path_ + '/' + so_far);
    if (!next.is_open()) {
      if (errno == ENOTDIR || errno == ELOOP) {
        throw Error(ErrorCode::name_unsafe, {.file = path_ + '/' + so_far},
                    "it is a file or a link, where a folder is needed");
      }
      fail(so_far, "opening the folder");
    }
    at = std::move(next);
    from = end + 1;
  }
  sweep_temporaries(at.descriptor(), kPrefix);
  current_ = std::move(at);
  current_name_ = folder;
}

bool OutputFolder::holds(const std::string& leaf, Bytes bytes) const {
  const File old(
      ::openat(current_.descriptor(), leaf.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC),
      path_ + '/' + leaf);
  struct stat status{};
  if (!old.is_open() || ::fstat(old.descriptor(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return false;
  }
  if (static_cast<std::uint64_t>(status.st_size) != bytes.size()) return false;
  std::vector<std::byte> there(bytes.size());
  return old.read_at(there, 0) == bytes.size() &&
         std::equal(there.begin(), there.end(), bytes.begin());
}

bool OutputFolder::write(const std::string& name, Bytes bytes) {
  if (auto fault = check_name(name)) throw Error(*fault, {.file = path_, .key = name});
  const std::size_t slash = name.rfind('/');
  enter(slash == name.npos ? "" : std::string_view(name).substr(0, slash));
  const std::string leaf = name.substr(slash == name.npos ? 0 : slash + 1);

  struct stat status{};
  if (::fstatat(current_.descriptor(), leaf.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) {
    if (S_ISDIR(status.st_mode)) {
      throw Error(ErrorCode::name_unsafe, {.file = path_ + '/' + name},
                  "it is a folder, where a file is needed");
    }
    if (holds(leaf, bytes)) return false;
    if (!replace_) {
      throw Error(ErrorCode::output_exists, {.file = path_ + '/' + name}, "it holds other bytes");
    }
  }
  int descriptor;
  do {
    descriptor = make_temporary(current_.descriptor(), temporary_.c_str());
  } while (descriptor < 0 && errno == EAGAIN);
  File out(descriptor, path_ + '/' + name);  // open, and so locked, until renamed
  if (!out.is_open()) fail(name, "making the file");
  try {
    out.write_at(bytes, 0);
  } catch (...) {
    ::unlinkat(current_.descriptor(), temporary_.c_str(), 0);
    throw;
  }
  if (::renameat(current_.descriptor(), temporary_.c_str(), current_.descriptor(), leaf.c_str())) {
    const int number = errno;
    ::unlinkat(current_.descriptor(), temporary_.c_str(), 0);
    errno = number;
    fail(name, "renaming the file");
  }
  return true;
}

void OutputFolder::sync() {
  // One call syncs all files, and reports an error of any file (since Linux 5.8).
  if (::syncfs(root_.descriptor()) != 0) fail("", "writing to the disk");
}

}  // namespace tundish
