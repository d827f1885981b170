// Remembers where folders lead, so that a path is not walked part by part each time.
#pragma once

#include <cstddef>

namespace tundish::guard {

constexpr std::size_t kLongestKnown = 384;

// A folder by the text of its path, and what a walk to it found.
struct KnownFolder {
  unsigned long generation;  // when it was true
  char text[kLongestKnown];
  char path[kLongestKnown];
  bool own_alive;
  bool marks_alive;
  bool hidden;
  bool mapped;
};

// True if the folder is known and nothing was changed since then.
bool recall(const char* text, std::size_t size, KnownFolder& out);

// `known.generation` must have been read before the walk.
void remember(const KnownFolder& known);

}  // namespace tundish::guard
