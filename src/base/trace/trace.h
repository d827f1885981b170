// Where the time went: spans of every thread, in memory of fixed size. When a thread's share of it
// is full its oldest spans are dropped and counted. See docs/loader-performance.md
// for a viewer.
//
// Code that records has a pointer to a track, or null: nothing is recorded then. Without a trace
// nothing of this exists.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

namespace tundish {

struct Span {
  const char* name;  // of a file and what it does: "decode.jpeg"; lives for ever
  std::uint64_t begin_ns, duration_ns;
  std::uint64_t number;  // of the sample, or the position of the batch
};

// The spans of one thread. One thread adds, any may read.
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
  // Throws Error when that file cannot be written. `bytes` is what the spans of all tracks may
  // take together, `process` their heading: "rank 0 of 1", and its number.
  Trace(std::string path, std::size_t bytes, std::size_t tracks, std::string process, int number);

  Track& track(const std::string& name);  // any thread; made when it is new, lives as the trace

  // Any thread. Begins again without spans, for another file. Throws Error as the constructor.
  void begin_again(std::string path);

  // Any thread. JSON as Perfetto and chrome://tracing read it, gzip when the name ends in .gz;
  // under that name is the whole file or the one before. Throws Error.
  void write() const;

 private:
  const std::string process_;
  const int number_;
  const std::size_t capacity_;  // of one track
  mutable std::mutex mutex_;    // guards what follows
  std::string path_;
  std::deque<Track> tracks_;
};

}  // namespace tundish
