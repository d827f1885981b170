#include "data/pack/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "base/temporary_file.h"

namespace tundish {

OutputFile::OutputFile(const std::string& target, bool replace) : target_(target, replace) {
  sweep_temporaries(target_.folder_descriptor(), target_.hidden_name("tmp."));
  create();
}

OutputFile::Temporary::~Temporary() {
  if (!path.empty()) ::unlink(path.c_str());
}

void OutputFile::create() {
  const std::string base = target_.hidden_name("tmp.") + std::to_string(::getpid());
  for (int attempt = 0; attempt < 100; ++attempt) {
    // Allocates all memory before the file exists.
    std::string leaf = attempt == 0 ? base : fmt::format("{}.{}", base, attempt);
    std::string path = target_.beside(leaf);
    std::string name = target_.path();
    const int descriptor = make_temporary(target_.folder_descriptor(), leaf.c_str());
    if (descriptor < 0) {
      // Another thread of this process writes the same target, or a process with the same number
      // in another container does, or a sweeper was faster.
      if (errno == EEXIST || errno == EAGAIN) continue;
      throw_errno(target_.path(), "create a temporary file beside it", true);
    }
    temporary_.leaf = std::move(leaf);
    temporary_.path = std::move(path);
    file_ = File(descriptor, std::move(name));
    return;
  }
  throw Error(ErrorCode::io_write, {.file = target_.path()},
              "no name is left for a temporary file");
}

void OutputFile::make_durable(std::uint64_t bytes) {
  if (::ftruncate(file_.descriptor(), static_cast<off_t>(bytes)) != 0) {
    throw_errno(target_.path(), "set the size", true);
  }
  // Never retried: after a failure the kernel marks the lost pages as clean.
  if (::fsync(file_.descriptor()) != 0) throw_errno(target_.path(), "fsync", true);
}

std::string OutputFile::complete(std::uint64_t bytes) {
  make_durable(bytes);
  file_ = File();
  temporary_.path.clear();
  return std::move(temporary_.leaf);
}

void OutputFile::commit(std::uint64_t bytes) {
  make_durable(bytes);
  target_.take_over(temporary_.leaf);
  temporary_.path.clear();
  if (!target_.sync_folder()) {
    throw_errno(target_.path(), "the file is complete, but fsync of its folder failed", true);
  }
}

void write_file(const std::string& target, bool replace, Bytes bytes) {
  OutputFile file(target, replace);
  file.write_at(bytes, 0);
  file.commit(bytes.size());
}

}  // namespace tundish
