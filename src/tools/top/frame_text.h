// A snapshot as lines of text: a frame of the live view, or a report.
#pragma once

#include <string>
#include <vector>

#include "tools/top/snapshot.h"

namespace tundish {

struct FrameStyle {
  std::size_t width = 120;  // longer lines are cut off
  bool blocks = true;       // bars of block characters; otherwise of #
};

// No line has a control character, whatever the names of processes and files are.
std::vector<std::string> frame_lines(const Snapshot& snapshot, const FrameStyle& style);

// The first `width` characters of UTF-8 text.
std::string cut_to_width(const std::string& text, std::size_t width);

}  // namespace tundish
