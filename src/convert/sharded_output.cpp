#include "convert/sharded_output.h"

#include <sys/stat.h>
#include <unistd.h>

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
  if (finished_) return;
  for (std::size_t s = 0; s < completed_; ++s) ::unlink(names_[s].c_str());
}

void ShardedOutput::next() {
  stream_ = std::make_unique<OutputStream>(names_[completed_], replace_);
}

void ShardedOutput::complete() {
  end_(*stream_);
  report_.bytes += stream_->offset();
  stream_->commit();
  ++report_.files;
  ++completed_;
}

OutputStream& ShardedOutput::of(std::uint64_t sample) {
  // count and shards are below 2^32 and 2^31: the product fits.
  while (completed_ + 1 < names_.size() && sample >= count_ * (completed_ + 1) / names_.size()) {
    complete();
    next();
  }
  return *stream_;
}

void ShardedOutput::finish() {
  while (completed_ + 1 < names_.size()) {
    complete();
    next();
  }
  complete();
  finished_ = true;
}

}  // namespace tundish
