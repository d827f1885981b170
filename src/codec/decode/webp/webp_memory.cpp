#include "codec/decode/webp/webp_memory.h"

#include <malloc.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace tundish {
namespace {

struct Account {
  std::size_t limit = SIZE_MAX;
  std::size_t held = 0, peak = 0;
  bool refused = false;
};

thread_local Account account;

bool is_granted(std::size_t bytes) {
  const bool fits = account.held <= account.limit && bytes <= account.limit - account.held;
  account.refused |= !fits;
  return fits;
}

void* taken(void* memory) {
  if (memory != nullptr) account.held += malloc_usable_size(memory);
  account.peak = std::max(account.peak, account.held);
  return memory;
}

}  // namespace

WebpMemoryLimit::WebpMemoryLimit(std::size_t bytes) { account = {.limit = bytes}; }
WebpMemoryLimit::~WebpMemoryLimit() { account = {}; }
bool WebpMemoryLimit::was_reached() const { return account.refused; }
std::size_t WebpMemoryLimit::peak() const { return account.peak; }

}  // namespace tundish

// Called by libwebp's archive. Encoders in tests also call these functions, without a limit.
extern "C" {

__attribute__((visibility("hidden"))) void* tundish_webp_malloc(std::size_t bytes) {
  return tundish::is_granted(bytes) ? tundish::taken(std::malloc(bytes)) : nullptr;
}

__attribute__((visibility("hidden"))) void* tundish_webp_calloc(std::size_t count,
                                                                std::size_t bytes) {
  std::size_t all = 0;
  if (__builtin_mul_overflow(count, bytes, &all) || !tundish::is_granted(all)) return nullptr;
  return tundish::taken(std::calloc(count, bytes));
}

__attribute__((visibility("hidden"))) void tundish_webp_free(void* memory) {
  if (memory != nullptr) {
    tundish::account.held -= std::min(tundish::account.held, malloc_usable_size(memory));
  }
  std::free(memory);
}
}
