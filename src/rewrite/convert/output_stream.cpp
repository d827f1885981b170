#include "rewrite/convert/output_stream.h"

namespace tundish {
namespace {

constexpr std::size_t kBuffer = 1 << 20;

}  // namespace

void OutputStream::flush() {
  if (buffer_.empty()) return;
  file_.write_at(buffer_, flushed_);
  flushed_ += buffer_.size();
  buffer_.clear();
}

void OutputStream::write(Bytes bytes) {
  if (buffer_.size() + bytes.size() > kBuffer) flush();
  if (bytes.size() > kBuffer) {
    file_.write_at(bytes, flushed_);
    flushed_ += bytes.size();
  } else {
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  }
}

void OutputStream::write_zeros(std::size_t count) { write(std::vector<std::byte>(count)); }

void OutputStream::rewrite(Bytes bytes, std::uint64_t offset) {
  flush();
  file_.write_at(bytes, offset);
}

std::string OutputStream::complete() {
  flush();
  return file_.complete(flushed_);
}

void OutputStream::commit() {
  flush();
  file_.commit(flushed_);
}

}  // namespace tundish
