// Publishes a loader's statistics in memory that other processes find in /proc/PID/fd. Needs no
// file, thread or signal. The memory disappears with the process. Its readers: docs/machine.md.
#pragma once

#include <sys/types.h>

#include <string>

#include "loader/monitor/loader_page.h"

namespace tundish {

class Publisher {
 public:
  // Never throws. Publishes nothing if the system provides no such memory.
  explicit Publisher(const std::string& source) noexcept;
  ~Publisher();
  Publisher(const Publisher&) = delete;
  Publisher& operator=(const Publisher&) = delete;

  bool works() const { return page_ != nullptr; }
  int descriptor() const { return descriptor_; }  // for tests

  // One thread at a time. Takes less than a microsecond. No effect in a forked child, whose parent
  // keeps publishing in the same memory.
  void write(const LoaderStats& stats, const LoaderProgress& progress) noexcept;

 private:
  void write_head(const std::string& source) noexcept;

  int descriptor_ = -1;
  std::byte* page_ = nullptr;
  pid_t process_;
};

}  // namespace tundish
