// One line on stderr that is drawn over and over: share, rate, time left. Silent when stderr is no
// terminal, and with --quiet; --json concerns stdout only. One thread at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "cli/shell.h"

namespace tundish::cli {

// What has been done so far; a total of 0 means that it is not known.
struct Amount {
  std::uint64_t items = 0, items_total = 0;
  std::uint64_t bytes = 0, bytes_total = 0;
};

class Progress {
 public:
  // `word` is the first word of the line ("packing"), `unit` what is counted ("img").
  Progress(const Shell& shell, const char* word, const char* unit);
  ~Progress();  // wipes the line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Draws at most ten times a second, and not before the first tenth is over.
  void show(const Amount& amount, std::string_view remark = {});

  void wipe();
  double seconds() const;  // since the start

 private:
  const bool active_;
  const bool color_;
  const char* word_;
  const char* unit_;
  const std::chrono::steady_clock::time_point start_;
  double drawn_at_ = 0;
  bool drawn_ = false;
};

// The line itself, without color, at most `columns` wide.
std::string progress_line(const Amount& amount, double seconds, const char* unit,
                          std::string_view remark, std::size_t columns, bool blocks);

}  // namespace tundish::cli
