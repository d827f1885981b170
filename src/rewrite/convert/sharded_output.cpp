#include "rewrite/convert/sharded_output.h"

#include <sys/stat.h>
#include <unistd.h>

#include "data/pack/output_target.h"

namespace tundish {

ShardedOutput::ShardedOutput(const Conversion& conversion, std::vector<std::string> names,
                             std::function<void(OutputStream&)> end)
    : report_(conversion.report),
      names_(std::move(names)),
      end_(std::move(end)),
      replace_(conversion.replace),
      count_(conversion.source.count()) {
  for (const std::string& name : names_) {
    struct stat status;
    if (replace_ || ::lstat(name.c_str(), &status) != 0) continue;
    throw Error(ErrorCode::output_exists, {.file = name}, "");
  }
  next();
}

ShardedOutput::~ShardedOutput() {
  for (std::size_t s = named_; s < temporary_.size(); ++s) {
    try {
      ::unlink(OutputTarget(names_[s], true).beside(temporary_[s]).c_str());
    } catch (const Error&) {
      // The folder is gone or no descriptor is left: the next writer of this target removes it.
    }
  }
}

void ShardedOutput::next() {
  stream_ = std::make_unique<OutputStream>(names_[temporary_.size()], replace_);
}

void ShardedOutput::complete() {
  end_(*stream_);
  report_.bytes += stream_->offset();
  temporary_.push_back(stream_->complete());
  ++report_.files;
}

OutputStream& ShardedOutput::of(std::uint64_t sample) {
  // count and shards are below 2^32 and 2^31, so the product cannot overflow.
  const auto is_behind = [&] {
    const std::uint64_t end = count_ * (temporary_.size() + 1) / names_.size();
    return temporary_.size() + 1 < names_.size() && sample >= end;
  };
  while (is_behind()) {
    complete();
    next();
  }
  return *stream_;
}

void ShardedOutput::finish() {
  while (temporary_.size() + 1 < names_.size()) {
    complete();
    next();
  }
  complete();
  for (const std::string& name : names_) {
    const OutputTarget target(name, replace_);
    target.take_over(temporary_[named_]);
    ++named_;
    if (named_ == names_.size() && !target.sync_folder()) {
      throw_errno(name, "the files are complete, but fsync of their folder failed", true);
    }
  }
}

}  // namespace tundish
