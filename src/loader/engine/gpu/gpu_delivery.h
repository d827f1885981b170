// Takes finished batches of an engine to a GPU, and what the GPU reports back to the engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cuda/array_uploader.h"
#include "cuda/decode/resident_pack.h"
#include "cuda/gpu_uploader.h"
#include "loader/engine/engine.h"
#include "loader/engine/gpu/decode_choice.h"
#include "loader/engine/gpu/steps_left.h"

namespace tundish {

class GpuDelivery {
 public:
  // `stream` is a cudaStream_t of that device. Stream and engine must outlive it. resident: null,
  // or completely loaded; then before the engine is started. Throws Error(gpu).
  GpuDelivery(Engine& engine, int device, void* stream,
              std::shared_ptr<const cuda::ResidentPack> resident);

  // GPU memory for one batch: the images of each view, or each array; null: not wanted.
  struct Out {
    std::span<void* const> images;
    void* labels = nullptr;
    void* samples = nullptr;
  };

  // Enqueues the copy and the kernels.
  void enqueue(const std::shared_ptr<const Batch>& batch, const Out& out);

  // See cuda/gpu_uploader.h.
  std::optional<cuda::GpuUploader::Refused> poll_completed();
  void forget();

  // The training loop's stream waits for a batch; see loader/engine/gpu/decode_choice.h.
  std::optional<std::string> handed_over(bool on_gpu, void* stream);
  std::optional<bool> decodes_on_gpu() const;  // empty: decode="auto" has not chosen yet

 private:
  void enqueue_arrays(const std::shared_ptr<const Batch>& batch, const Out& out);
  void enqueue_view(const std::shared_ptr<const Batch>& batch, std::size_t view,
                    const cuda::GpuUploader::Out& out);

  Engine& engine_;
  std::vector<std::unique_ptr<cuda::GpuUploader>> uploaders_;  // one for each view of images
  std::unique_ptr<cuda::ArrayUploader> arrays_;                // of samples without an image
  std::optional<DecodeChoice> choice_;  // decode="auto", when both can decode
};

// Makes an image that the GPU could not decode a bad sample of the engine, with the error that the
// CPU's decoder gives; reads its record. Throws as Engine::enter_zeros().
void enter_refused(Engine& engine, const cuda::GpuUploader::Refused& refused);

}  // namespace tundish
