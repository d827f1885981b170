#include "rewrite/convert/sharded_output.h"

#include <sys/stat.h>

namespace tundish {

ShardedOutput::ShardedOutput(const Conversion& conversion, std::vector<std::string> names,
                             std::function<void(OutputStream&)> end)
    : report_(conversion.report),
      names_(std::move(names)),
      end_(std::move(end)),
      replace_(conversion.replace),
      count_(conversion.source.count()),
      completed_(conversion.replace) {
  for (const std::string& name : names_) {
    struct stat status;
    if (replace_ || ::lstat(name.c_str(), &status) != 0) continue;
    throw Error(ErrorCode::output_exists, {.file = name}, "");
  }
  next();
}

void ShardedOutput::next() {
  stream_ = std::make_unique<OutputStream>(names_[completed_.size()], replace_);
}

void ShardedOutput::complete() {
  end_(*stream_);
  report_.bytes += stream_->offset();
  completed_.add(names_[completed_.size()], *stream_);
  ++report_.files;
}

OutputStream& ShardedOutput::of(std::uint64_t sample) {
  // count and shards are below 2^32 and 2^31, so the product cannot overflow.
  const auto is_behind = [&] {
    const std::uint64_t end = count_ * (completed_.size() + 1) / names_.size();
    return completed_.size() + 1 < names_.size() && sample >= end;
  };
  while (is_behind()) {
    complete();
    next();
  }
  return *stream_;
}

void ShardedOutput::finish() {
  while (completed_.size() + 1 < names_.size()) {
    complete();
    next();
  }
  complete();
  completed_.publish();
}

}  // namespace tundish
