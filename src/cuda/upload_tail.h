// The numbers that go to the GPU with a batch, after its images: labels, sample numbers, targets.
// Written here once; the engine leaves room for them, the uploader writes them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/augment/target.h"

namespace tundish::cuda {

inline constexpr std::size_t kTailAlignment = 64;

// In bytes from the start of what is copied.
struct UploadTail {
  UploadTail(std::size_t begin, std::size_t images, std::size_t targets)
      : labels((begin + kTailAlignment - 1) / kTailAlignment * kTailAlignment),
        samples(labels + sizeof(std::int64_t) * images),
        target(samples + sizeof(std::int64_t) * images),
        end(target + sizeof(Target) * targets) {}
  std::size_t labels, samples, target, end;
};

// Room for the tail of a batch of so many images, wherever the images end.
inline std::size_t upload_tail_bytes(std::size_t images) {
  return UploadTail(0, images, images).end + kTailAlignment;
}

}  // namespace tundish::cuda
