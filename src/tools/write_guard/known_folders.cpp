#include "tools/write_guard/known_folders.h"

#include <cstring>

#include "tools/write_guard/generation.h"

namespace tundish::guard {
namespace {

constexpr std::size_t kSlots = 1024;

// Threads and signal handlers never wait: an odd version is being written, and is passed over. In a
// child process it may stay odd forever.
struct Slot {
  unsigned version;
  KnownFolder known;
};
Slot slots[kSlots];

Slot& slot_of(const char* text, std::size_t size) {
  std::size_t hash = 1469598103934665603UL;
  for (std::size_t i = 0; i < size; ++i) {
    hash = (hash ^ static_cast<unsigned char>(text[i])) * 1099511628211UL;
  }
  return slots[hash % kSlots];
}

}  // namespace

bool recall(const char* text, std::size_t size, KnownFolder& out) {
  if (size == 0 || size >= kLongestKnown) return false;
  const unsigned long now = generation();
  Slot& slot = slot_of(text, size);
  const unsigned version = __atomic_load_n(&slot.version, __ATOMIC_ACQUIRE);
  if (version == 0 || version % 2 == 1 || now == kUnknown) return false;
  std::memcpy(&out, &slot.known, sizeof out);
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  if (__atomic_load_n(&slot.version, __ATOMIC_RELAXED) != version) return false;
  return out.generation == now && std::memcmp(out.text, text, size) == 0 && out.text[size] == '\0';
}

void remember(const KnownFolder& known) {
  Slot& slot = slot_of(known.text, std::strlen(known.text));
  unsigned version = __atomic_load_n(&slot.version, __ATOMIC_RELAXED);
  if (version % 2 == 1 || !__atomic_compare_exchange_n(&slot.version, &version, version + 1, false,
                                                       __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
    return;
  }
  std::memcpy(&slot.known, &known, sizeof known);
  __atomic_store_n(&slot.version, version + 2, __ATOMIC_RELEASE);
}

}  // namespace tundish::guard
