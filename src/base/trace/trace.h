// Records where the time goes: spans of every thread, in memory of fixed size. When a thread's
// share is full, its oldest spans are dropped and counted. See docs/loader-performance.md
// for a viewer.
//
// Code that records holds a pointer to a track; null records nothing. Without a trace, no object
// of this header exists.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

namespace tundish {

struct Span {
  const char* name;  // file and action, such as "decode.jpeg"; static storage
  std::uint64_t begin_ns, duration_ns;
  std::uint64_t number;  // sample number, or position of the batch
};

// The spans of one thread. One thread adds; any thread may read.
class Track {
 public:
  Track(std::string name, std::size_t capacity);

  void add(const char* name, std::uint64_t begin_ns, std::uint64_t duration_ns,
           std::uint64_t number) noexcept;

  const std::string& name() const { return name_; }
  std::vector<Span> spans() const;  // oldest first
  std::uint64_t dropped() const;
  void clear();

 private:
  const std::string name_;
  const std::size_t capacity_;
  mutable std::mutex mutex_;
  std::vector<Span> ring_;
  std::uint64_t added_ = 0;
};

class Trace {
 public:
  // Throws Error if the file cannot be written. `bytes` limits the spans of all tracks together.
  // `process` is the heading, such as "rank 0 of 1", and `number` its number.
  Trace(std::string path, std::size_t bytes, std::size_t tracks, std::string process, int number);

  Track& track(const std::string& name);  // thread-safe; created on first use

  // Thread-safe. Drops all spans and starts another file. Throws Error like the constructor.
  void begin_again(std::string path);

  // Thread-safe. Writes JSON for Perfetto and chrome://tracing, gzipped if the name ends in .gz.
  // The file is replaced atomically. Throws Error.
  void write() const;

 private:
  const std::string process_;
  const int number_;
  const std::size_t capacity_;  // spans per track
  mutable std::mutex mutex_;    // guards the members below
  std::string path_;
  std::deque<Track> tracks_;
};

}  // namespace tundish
