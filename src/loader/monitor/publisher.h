// Publishes what a loader does in memory that other processes find in /proc/PID/fd: no file, no
// thread, no signal. When the process ends, the memory is gone. docs/machine.md shows who reads it.
#pragma once

#include <sys/types.h>

#include <string>

#include "loader/monitor/loader_page.h"

namespace tundish {

class Publisher {
 public:
  // Never throws. Where the system gives no such memory, nothing is published.
  explicit Publisher(const std::string& source) noexcept;
  ~Publisher();
  Publisher(const Publisher&) = delete;
  Publisher& operator=(const Publisher&) = delete;

  bool works() const { return page_ != nullptr; }
  int descriptor() const { return descriptor_; }  // for tests

  // One thread at a time. Less than a microsecond; nothing in a forked child, whose parent goes on
  // publishing in the same memory.
  void write(const LoaderStats& stats, const LoaderProgress& progress) noexcept;

 private:
  void write_head(const std::string& source) noexcept;

  int descriptor_ = -1;
  std::byte* page_ = nullptr;
  pid_t process_;
};

}  // namespace tundish
