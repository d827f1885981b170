// A single, redrawn progress line on stderr: fraction, rate, time left. Silent if stderr is not a
// terminal, and with --quiet; --json affects stdout only. One thread at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "cli/shell.h"

namespace tundish::cli {

// Completed work; a total of 0 means unknown.
struct Amount {
  std::uint64_t items = 0, items_total = 0;
  std::uint64_t bytes = 0, bytes_total = 0;
};

class Progress {
 public:
  // `word` starts the line ("packing"); `unit` is the counted item ("img").
  Progress(const Shell& shell, const char* word, const char* unit);
  ~Progress();  // clears the line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Draws at most ten times per second, and never within the first tenth of a second.
  void show(const Amount& amount, std::string_view remark = {});

  void wipe();
  double seconds() const;  // seconds since construction

 private:
  const bool active_;
  const bool color_;
  const char* word_;
  const char* unit_;
  const std::chrono::steady_clock::time_point start_;
  double drawn_at_ = 0;
  bool drawn_ = false;
};

// Whether the user's locale is UTF-8, so that block characters can be shown.
bool has_blocks();

// Returns the line itself, without color, at most `columns` wide.
std::string progress_line(const Amount& amount, double seconds, const char* unit,
                          std::string_view remark, std::size_t columns, bool blocks);

}  // namespace tundish::cli
