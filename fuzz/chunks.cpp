// Any bytes as a chunk, with any steps: the chunk or a fault, within the promised memory.
// parser: src/data/source/chunks/*
#include <cstdlib>
#include <vector>

#include "data/source/chunks/chunk_steps.h"

// The first byte is the number of steps, followed by one byte each (codec, element size). Two bytes
// hold the size of the chunk; the rest is the stored data.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tundish;
  if (size < 4) return 0;
  const std::size_t count = data[0] % 4u;
  if (size < 3 + count) return 0;
  std::vector<ChunkStep> steps;
  for (std::size_t s = 0; s < count; ++s) {
    steps.push_back({static_cast<ChunkCodec>(data[1 + s] % kChunkCodecs), 1u + data[1 + s] / 13u});
  }
  const std::size_t bytes = data[1 + count] + 256u * data[2 + count];
  std::vector<std::byte> out(bytes);
  const Bytes stored(reinterpret_cast<const std::byte*>(data) + 3 + count, size - 3 - count);
  const auto fault = undo_steps(out, stored, steps);
  if (fault && fault->reason.empty()) std::abort();
  return 0;
}
