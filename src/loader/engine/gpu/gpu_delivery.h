// Copies finished batches of an engine to a GPU, and reports decode errors back to the engine.
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
#include "loader/engine/gpu/remaining_steps.h"

namespace tundish {

class GpuDelivery {
 public:
  // `stream` is a cudaStream_t of the device. Stream and engine must outlive this object.
  // `resident`: null, or completely loaded before the engine starts. Throws Error(gpu).
  GpuDelivery(Engine& engine, int device, void* stream,
              std::shared_ptr<const cuda::ResidentPack> resident);

  // GPU memory for one batch: the images of each view, or each array. Null pointers are not filled.
  struct Out {
    std::span<void* const> images;
    void* labels = nullptr;
    void* samples = nullptr;
  };

  // Enqueues the copy and the kernels.
  void enqueue(const std::shared_ptr<const Batch>& batch, const Out& out);

  // See cuda/gpu_uploader.h.
  std::optional<cuda::GpuUploader::Refused> poll_completed();
  void abandon_iteration();

  // Reports that the training loop's stream waits for a batch; see decode_choice.h.
  std::optional<std::string> delivered(bool on_gpu, void* stream);
  std::optional<bool> decodes_on_gpu() const;  // empty: decode="auto" is still undecided

 private:
  void enqueue_arrays(const std::shared_ptr<const Batch>& batch, const Out& out);
  void enqueue_view(const std::shared_ptr<const Batch>& batch, std::size_t view,
                    const cuda::GpuUploader::Out& out);

  Engine& engine_;
  std::vector<std::unique_ptr<cuda::GpuUploader>> uploaders_;  // one per view of images
  std::unique_ptr<cuda::ArrayUploader> arrays_;                // for samples without an image
  std::optional<DecodeChoice> choice_;  // set for decode="auto" if both can decode
};

// Records an image that the GPU could not decode as a bad sample, with the error of the CPU's
// decoder. Reads the record. Throws like Engine::record_zeros().
void report_undecodable(Engine& engine, const cuda::GpuUploader::Refused& refused);

}  // namespace tundish
