// XXH3-128 over bytes that arrive in parts.
#pragma once

#include <string_view>

#include "base/bytes.h"
#include "data/pack/format.h"

// Must be the last include: it changes how the compiler treats the code below.
#include <xxhash.h>

namespace tundish {

class Digest {
 public:
  Digest() { reset(); }
  void reset() { XXH3_128bits_reset(&state_); }
  void add(Bytes bytes) {
    if (!bytes.empty()) XXH3_128bits_update(&state_, bytes.data(), bytes.size());
  }
  void add(std::string_view text) { add(std::as_bytes(std::span(text))); }
  PackId value() const {
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(&state_));
    PackId out;
    std::memcpy(out.data(), canonical.digest, out.size());
    return out;
  }

 private:
  XXH3_state_t state_;
};

}  // namespace tundish
