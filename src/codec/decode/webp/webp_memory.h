// A limit on what libwebp takes: its archive calls our malloc, calloc and free (CMakeLists.txt).
// A lossless file of 200 kB may ask for more than a gigabyte of Huffman tables.
#pragma once

#include <cstddef>

namespace tundish {

// While it lives, libwebp gets at most `bytes` on this thread; more is "out of memory" for it. Not
// to be nested.
class WebpMemoryLimit {
 public:
  explicit WebpMemoryLimit(std::size_t bytes);
  ~WebpMemoryLimit();
  WebpMemoryLimit(const WebpMemoryLimit&) = delete;
  WebpMemoryLimit& operator=(const WebpMemoryLimit&) = delete;

  bool was_reached() const;  // a call was refused
  std::size_t peak() const;  // the most that was taken at once
};

}  // namespace tundish
