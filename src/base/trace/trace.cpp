#include "base/trace/trace.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "base/file.h"
#include "base/trace/chrome_json.h"

namespace tundish {
namespace {

std::string temporary_name(const std::string& path) {
  return fmt::format("{}.tmp{}", path, ::getpid());
}

// Fails early, before a run of several days ends without a place for its trace.
void check_place(const std::string& path) {
  if (std::error_code error; std::filesystem::is_directory(path, error)) {
    throw Error(ErrorCode::io_write, {.file = path}, "a folder has this name; give one of a file");
  }
  const std::string name = temporary_name(path);
  const int descriptor = ::open(name.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0) throw_errno(path, "making the trace", true);
  ::close(descriptor);
  ::unlink(name.c_str());
}

}  // namespace

Track::Track(std::string name, std::size_t capacity)
    : name_(std::move(name)), capacity_(std::max<std::size_t>(capacity, 1)) {
  ring_.reserve(capacity_);
}

void Track::add(const char* name, std::uint64_t begin_ns, std::uint64_t duration_ns,
                std::uint64_t number) noexcept {
  const Span span{name, begin_ns, duration_ns, number};
  std::lock_guard lock(mutex_);
  if (ring_.size() < capacity_) {
    ring_.push_back(span);  // never reallocates: within the reserved capacity
  } else {
    ring_[static_cast<std::size_t>(added_ % capacity_)] = span;
  }
  ++added_;
}

std::vector<Span> Track::spans() const {
  std::lock_guard lock(mutex_);
  std::vector<Span> out = ring_;
  if (added_ > capacity_) {
    const auto oldest = static_cast<std::ptrdiff_t>(added_ % capacity_);
    std::rotate(out.begin(), out.begin() + oldest, out.end());
  }
  return out;
}

std::uint64_t Track::dropped() const {
  std::lock_guard lock(mutex_);
  return added_ - ring_.size();
}

void Track::clear() {
  std::lock_guard lock(mutex_);
  ring_.clear();
  added_ = 0;
}

Trace::Trace(std::string path, std::size_t bytes, std::size_t tracks, std::string process,
             int number)
    : process_(std::move(process)),
      number_(number),
      capacity_(bytes / sizeof(Span) / std::max<std::size_t>(tracks, 1)),
      path_(std::move(path)) {
  check_place(path_);
}

Track& Trace::track(const std::string& name) {
  std::lock_guard lock(mutex_);
  const auto known = std::find_if(tracks_.begin(), tracks_.end(),
                                  [&](const Track& one) { return one.name() == name; });
  return known != tracks_.end() ? *known : tracks_.emplace_back(name, capacity_);
}

void Trace::begin_again(std::string path) {
  check_place(path);
  std::lock_guard lock(mutex_);
  path_ = std::move(path);
  for (Track& track : tracks_) track.clear();
}

void Trace::write() const {
  std::lock_guard lock(mutex_);
  const std::string name = temporary_name(path_);
  try {
    ChromeJson json(name, path_.ends_with(".gz"), process_, number_);
    for (const Track& track : tracks_) json.add(track);
    json.finish();
    if (::rename(name.c_str(), path_.c_str()) != 0) throw_errno(path_, "naming the trace", true);
  } catch (...) {
    ::unlink(name.c_str());
    throw;
  }
}

}  // namespace tundish
