#include "rewrite/convert/completed_files.h"

#include <unistd.h>

#include "data/pack/output_target.h"

namespace tundish {

CompletedFiles::~CompletedFiles() {
  for (std::size_t f = published_; f < files_.size(); ++f) {
    try {
      ::unlink(OutputTarget(files_[f].name, true).beside(files_[f].temporary).c_str());
    } catch (const Error&) {
      // The folder is gone or no descriptor is left: the next writer of this target removes it.
    }
  }
}

void CompletedFiles::add(const std::string& name, OutputStream& stream) {
  files_.push_back({name, {}});
  try {
    files_.back().temporary = stream.complete();
  } catch (...) {
    files_.pop_back();
    throw;
  }
}

void CompletedFiles::publish() {
  for (const File& file : files_) {
    const OutputTarget target(file.name, replace_);
    target.take_over(file.temporary);
    ++published_;
    if (published_ == files_.size() && !target.sync_folder()) {
      throw_errno(file.name, "the files are complete, but fsync of their folder failed", true);
    }
  }
}

}  // namespace tundish
