// Formats a snapshot as lines of text: a frame of the live view, or a report.
#pragma once

#include <string>
#include <vector>

#include "tools/top/snapshot.h"

namespace tundish {

struct FrameStyle {
  std::size_t width = 120;  // longer lines are truncated
  bool blocks = true;       // draws bars with block characters, otherwise with #
};

// No line contains a control character, even if names of processes or files do.
std::vector<std::string> frame_lines(const Snapshot& snapshot, const FrameStyle& style);

// Returns the first `width` characters of UTF-8 text.
std::string cut_to_width(const std::string& text, std::size_t width);

// Returns a line of a frame with terminal colors: bold names, bars, red warnings, and the share of
// the time that training waits for data (yellow from 10 %, red from 50 %).
std::string in_color(const std::string& line);

}  // namespace tundish
