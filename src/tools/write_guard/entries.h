// The entries of an open folder, without memory from the heap.
#pragma once

#include <cstring>

#include "tools/write_guard/system_calls.h"

namespace tundish::guard {

struct Entry {
  unsigned long number;
  long offset;
  unsigned short size;
  unsigned char type;
  char name[];
};

// Calls visit(entry) for each entry until it returns false. True if all were visited.
template <class Visit>
bool for_each_entry(int folder, const Visit& visit) {
  alignas(Entry) char buffer[8192];
  for (;;) {
    const long size = ::syscall(SYS_getdents64, folder, buffer, sizeof buffer);
    if (size <= 0) return size == 0;
    for (long at = 0; at < size;) {
      const Entry& entry = *reinterpret_cast<const Entry*>(buffer + at);
      at += entry.size;
      if (std::strcmp(entry.name, ".") == 0 || std::strcmp(entry.name, "..") == 0) continue;
      if (!visit(entry)) return false;
    }
  }
}

}  // namespace tundish::guard
