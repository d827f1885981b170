// Limits libwebp's memory: its archive calls our malloc, calloc and free (CMakeLists.txt).
// A lossless file of 200 kB may need more than a gigabyte of Huffman tables.
#pragma once

#include <cstddef>

namespace tundish {

// Limits libwebp to `bytes` on this thread while the object exists; further requests fail as "out
// of memory". Must not be nested.
class WebpMemoryLimit {
 public:
  explicit WebpMemoryLimit(std::size_t bytes);
  ~WebpMemoryLimit();
  WebpMemoryLimit(const WebpMemoryLimit&) = delete;
  WebpMemoryLimit& operator=(const WebpMemoryLimit&) = delete;

  bool was_reached() const;  // true if a request was refused
  std::size_t peak() const;  // maximum memory held at once
};

}  // namespace tundish
