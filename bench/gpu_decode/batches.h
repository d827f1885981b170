// The records that bench_gpu_decode decodes, and their batches: planned, page-locked, on the GPU.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "augment/transforms.h"
#include "cuda/decode/batch_plan.h"
#include "cuda/decode/decoder.h"
#include "data/pack/reader.h"

namespace tundish::cuda::bench {

constexpr int kSide = 224;
constexpr std::uint64_t kElements = std::uint64_t{3} * kSide * kSide;

struct Options {
  std::string pack;
  std::uint64_t batch = 512;
  int threads = 4;
  int rounds = 5;
  double seconds = 1.0;
};

// The lanes records of a pack, copied repeatedly until they exceed any cache.
struct Set {
  std::vector<std::byte> memory;
  std::vector<Bytes> records;
  const lanes::Tables* tables = nullptr;
  Transforms transforms;
  PixelTable table;
  std::shared_ptr<const Pack> pack;
};

void load(Set& set, const std::string& path);

// Returns item `draw` of an endless sequence of random views; `record` receives the record's bytes.
View view_of(const Set& set, std::uint64_t draw, Bytes& record);

// Returns the place of image i in a batch, channels first.
ElementPlace place_of(std::uint64_t i);

// Plans batch number n of the run. `check` also verifies the checksums.
void plan_batch(BatchPlan& plan, const Set& set, std::uint64_t n, std::uint64_t batch, bool check);

struct Pinned {
  std::byte* data = nullptr;
  std::size_t bytes = 0;
  void reserve(std::size_t more) {
    if (more <= bytes) return;
    cudaFreeHost(data);
    bytes = more + more / 8;
    cuda::check(cudaMallocHost(&data, bytes), "page-locked memory");
  }
};

struct Prepared {
  BatchLayout layout;
  Pinned pinned;
  std::byte* on_gpu = nullptr;
};

// Throws if the pixels of batch n differ from the CPU path's pixels.
void compare(const Set& set, const Prepared& batch, std::uint64_t n, const Options& options);

// Resources of one stream.
struct Lane {
  std::unique_ptr<BatchDecoder> decoder;
  cudaStream_t stream = nullptr;
  cudaEvent_t done = nullptr;
  std::byte* out = nullptr;

  Lane(const Set& set, std::uint64_t batch) {
    decoder = std::make_unique<BatchDecoder>(*set.tables, set.table);
    cuda::check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
    cuda::check(cudaEventCreateWithFlags(&done, cudaEventDisableTiming | cudaEventBlockingSync),
                "event");
    cuda::check(cudaMalloc(&out, static_cast<std::size_t>(batch * kElements) * 2), "batch");
  }
};

}  // namespace tundish::cuda::bench
