// Defines a replacement of a function of the C library, and finds the original.
//
// The definition has a name of its own for the compiler, because the headers declare the functions
// with attributes (nothrow, nonnull) that would differ.
#pragma once

#include <dlfcn.h>

namespace tundish::guard {

template <class Function>
Function original(const char* name, void*& found) {
  void* known = __atomic_load_n(&found, __ATOMIC_ACQUIRE);
  if (known == nullptr) {
    known = ::dlsym(RTLD_NEXT, name);
    __atomic_store_n(&found, known, __ATOMIC_RELEASE);
  }
  return reinterpret_cast<Function>(known);
}

}  // namespace tundish::guard

#define TUNDISH_REPLACE(result, name, ...)                                                      \
  extern "C"                                                                                    \
      __attribute__((visibility("default"))) result guarded_##name(__VA_ARGS__) __asm__(#name); \
  result guarded_##name(__VA_ARGS__)

// Calls the original: TUNDISH_ORIGINAL(open)(path, flags).
#define TUNDISH_ORIGINAL(name)                                                \
  ([] {                                                                       \
    static void* found = nullptr;                                             \
    return tundish::guard::original<decltype(&guarded_##name)>(#name, found); \
  }())
