// Uploads a batch from page-locked memory to tensors on a GPU: a copy, on a stream of its own, then
// the kernels, on the caller's; the next batch is copied meanwhile. Only the destructor and memory
// that has to grow wait for the GPU; the caller orders its work after that of the stream by events.
//
// A build without CUDA links no_cuda.cpp instead: the same classes, whose constructors throw.
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

// Which sample an image was made of, for Refused.
struct ImageOrigin {
  std::int64_t sample;  // -1: nobody asks
  std::uint64_t position;
};

// The images of one view of a batch. After the levels, and after the flat buffer, is room for
// upload_tail.h.
struct UploadBatch {
  std::shared_ptr<const void> keep;               // owns all memory below until it was copied
  Size size;                                      // of each image
  std::byte* levels = nullptr;                    // of the images that the CPU decoded, N, H, W, C
  std::span<const Target> targets;                // one per image of `levels`
  std::byte* coded = nullptr;                     // the flat buffer of all other images; null: none
  const BatchLayout* layout = nullptr;            // of the flat buffer
  std::span<const std::int64_t> labels, samples;  // one per sample
  std::uint64_t epoch = 0;                        // of the positions
  std::span<const std::uint32_t> numbers;         // in the batch, of the flat buffer's images
  std::span<const ImageOrigin> origins;           // of the same
  // What is left to do to each image: those of `levels`, then those of the flat buffer, which
  // become 8-bit levels one after the other. Empty: nothing to any, and the flat buffer's are
  // finished.
  std::span<const StepRange> left;
  std::span<const PixelStep> steps;
  std::span<const StepRange> erased;  // of `erasures`; as many as `left`
  std::span<const GpuErasure> erasures;
  // One for each image of the batch; empty: nothing is mixed. Otherwise `left` has ranges of all
  // images, the erasures are float32, and labels become (count, classes).
  std::span<const GpuMix> mixes;
  int classes = 0;
  float label_on = 1, label_off = 0;
  std::span<const float> label_vectors = {};  // (count, classes) as they are, instead of labels
};

class GpuUploader {
 public:
  // `stream` is a cudaStream_t of that device; the stream and the tables must outlive the uploader.
  // Without tables no flat buffer can be decoded. Throws Error(gpu).
  // `channels`: of the batch; 1 only without tables.
  // `mix_table`: the same values as float32, where images are mixed; otherwise null.
  GpuUploader(int device, void* stream, const PixelTable& table, const PixelTable* mix_table,
              int channels, bool channels_first, const lanes::Tables* tables,
              std::shared_ptr<const ResidentPack> resident);
  ~GpuUploader();  // waits until the GPU has read every batch

  // GPU memory for one batch: elements, and an int64 for each sample, or the float32 of mixed
  // labels; null: not wanted.
  struct Out {
    void* images = nullptr;
    void* labels = nullptr;
    void* samples = nullptr;
  };

  // Enqueues the copy and the kernels.
  void enqueue(const UploadBatch& batch, const Out& out);

  // A unit that no kernel could decode, in a batch that was enqueued before; its image is zeros.
  struct Refused {
    std::int64_t sample;
    std::uint64_t epoch, position;
    int unit_x, unit_y;
    bool wanted;  // no forget() since
  };

  // Gives back batches that were copied since. Cheap. Returns one refusal that was not reported
  // yet.
  std::optional<Refused> poll_completed();

  // The iteration was left: refusals of all batches so far are only counted.
  void forget();

 private:
  struct State;
  struct Sent;
  void put_on_stream(const UploadBatch& batch, const Out& out, Sent& one);

  std::unique_ptr<State> state_;
};

}  // namespace tundish::cuda
