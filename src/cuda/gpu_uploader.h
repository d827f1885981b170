// Uploads a batch from page-locked memory to tensors on a GPU: one copy on its own stream, then
// kernels on the caller's stream, while the next batch is copied. Only the destructor and
// growing memory wait for the GPU; the caller orders its work after the stream's work by events.
//
// A build without CUDA links no_cuda.cpp instead: the same classes with constructors that throw.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "augment/pixel_table.h"
#include "base/image.h"
#include "codec/lanes/tables.h"
#include "cuda/augment/gpu_erasure.h"
#include "cuda/augment/gpu_mix.h"
#include "cuda/augment/step_range.h"
#include "cuda/augment/target.h"
#include "cuda/decode/batch_layout.h"

namespace tundish::cuda {

class ResidentPack;

// The sample that an image was made from, for Refused.
struct ImageOrigin {
  std::int64_t sample;  // -1: not reported
  std::uint64_t position;
};

// The images of one view of a batch. The levels and the flat buffer are each followed by room for
// upload_tail.h.
struct UploadBatch {
  std::shared_ptr<const void> keep;               // owns all memory below until it was copied
  Size size;                                      // size of each image
  std::byte* levels = nullptr;                    // images decoded by the CPU, N, H, W, C
  std::span<const Target> targets;                // one per image of `levels`
  std::byte* coded = nullptr;                     // flat buffer of all other images; null: none
  const BatchLayout* layout = nullptr;            // layout of the flat buffer
  std::span<const std::int64_t> labels, samples;  // one per sample
  std::uint64_t epoch = 0;                        // epoch of the positions
  std::span<const std::uint32_t> numbers;         // batch numbers of the flat buffer's images
  std::span<const ImageOrigin> origins;           // origins of the same images
  // Remaining steps per image: first for `levels`, then for the flat buffer's images, which then
  // become 8-bit levels one after the other. Empty: no steps remain, and the flat buffer's images
  // are finished directly.
  std::span<const StepRange> remaining;
  std::span<const PixelStep> steps;
  std::span<const StepRange> erased;  // ranges in `erasures`; same size as `remaining`
  std::span<const GpuErasure> erasures;
  // One per image of the batch; empty: nothing is mixed. Otherwise `remaining` has a range for
  // every image, the erasures are float32, and labels become (count, classes).
  std::span<const GpuMix> mixes;
  int classes = 0;
  float label_on = 1, label_off = 0;
  std::span<const float> label_vectors = {};  // (count, classes), copied instead of labels
};

class GpuUploader {
 public:
  // `stream` is a cudaStream_t of that device; it and the tables must outlive the uploader.
  // Without tables, flat buffers cannot be decoded. Throws Error(gpu).
  // `channels`: channels of the batch; 1 only without tables.
  // `mix_table`: the same values as float32 if images are mixed, otherwise null.
  GpuUploader(int device, void* stream, const PixelTable& table, const PixelTable* mix_table,
              int channels, bool channels_first, const lanes::Tables* tables,
              std::shared_ptr<const ResidentPack> resident);
  ~GpuUploader();  // waits until the GPU has read every batch

  // GPU memory for one batch: the elements, and an int64 per sample or the float32 vectors of mixed
  // labels. Null: not wanted.
  struct Out {
    void* images = nullptr;
    void* labels = nullptr;
    void* samples = nullptr;
  };

  // Enqueues the copy and the kernels.
  void enqueue(const UploadBatch& batch, const Out& out);

  // A unit that no kernel could decode, in an enqueued batch; the image is zeros.
  struct Refused {
    std::int64_t sample;
    std::uint64_t epoch, position;
    int unit_x, unit_y;
    bool wanted;  // false after abandon_iteration()
  };

  // Releases batches that were copied since the last call. Cheap. Returns one refusal that was not
  // reported before.
  std::optional<Refused> poll_completed();

  // Called when the iteration is abandoned: refusals of earlier batches are then only counted.
  void abandon_iteration();

 private:
  struct State;
  struct Sent;
  void put_on_stream(const UploadBatch& batch, const Out& out, Sent& one);

  std::unique_ptr<State> state_;
};

}  // namespace tundish::cuda
