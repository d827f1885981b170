// The numbers uploaded after a batch's images: labels, sample numbers, targets.
// Defines the layout; the engine reserves the room, and the uploader writes the numbers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/augment/target.h"

namespace tundish::cuda {

inline constexpr std::size_t kTailAlignment = 64;

// Byte offsets from the start of the copied memory.
struct UploadTail {
  UploadTail(std::size_t begin, std::size_t images, std::size_t targets)
      : labels((begin + kTailAlignment - 1) / kTailAlignment * kTailAlignment),
        samples(labels + sizeof(std::int64_t) * images),
        target(samples + sizeof(std::int64_t) * images),
        end(target + sizeof(Target) * targets) {}
  std::size_t labels, samples, target, end;
};

// Returns the room for the tail of a batch of `images` images, wherever the images end.
inline std::size_t upload_tail_bytes(std::size_t images) {
  return UploadTail(0, images, images).end + kTailAlignment;
}

}  // namespace tundish::cuda
