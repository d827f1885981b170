#include "cuda/optim/gpu_optimizer.h"

#include <algorithm>
#include <vector>

#include "cuda/optim/kernels.h"
#include "cuda/runtime/on_device.h"
#include "cuda/runtime/runtime.h"
#include "optim/tensor_checks.h"

namespace tundish::cuda {
namespace {

using optim::Chunk;
using optim::OptimizerKind;
using optim::StepOptions;
using optim::TensorEntry;

// Smaller than on a CPU: enough blocks for every multiprocessor, and a short tail at the end.
constexpr std::uint32_t kGpuChunk = 8192;

// The tables of bound tensors on the GPU, and the working memory of a step.
struct Tables {
  DeviceMemory tensors, gradients, chunks, first_chunk, scalars, values, chunk_sums, tensor_values;
  std::uint32_t tensor_count = 0, chunk_count = 0;
};

// Copies on its own stream, because a trainer may be recording on the trainer's stream.
class Upload {
 public:
  Upload() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "make a stream"); }
  Upload(const Upload&) = delete;
  Upload& operator=(const Upload&) = delete;
  ~Upload() { cudaStreamDestroy(stream_); }

  template <class T>
  void put(DeviceMemory& to, const std::vector<T>& from) {
    to.take(std::max<std::size_t>(1, from.size()) * sizeof(T));
    if (from.empty()) return;
    check(cudaMemcpyAsync(to.as<T>(), from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice,
                          stream_),
          "copy the table of tensors");
  }
  void wait() { check(cudaStreamSynchronize(stream_), "copy the table of tensors"); }

 private:
  cudaStream_t stream_ = nullptr;
};

std::unique_ptr<Tables> make_tables(const std::vector<TensorEntry>& tensors,
                                    const std::vector<void*>& gradients) {
  auto out = std::make_unique<Tables>();
  const std::vector<Chunk> chunks = optim::cut_into_chunks(tensors, kGpuChunk);
  std::vector<std::uint32_t> first(tensors.size() + 1);
  for (const Chunk& chunk : chunks) ++first[chunk.tensor + 1];
  for (std::size_t i = 1; i < first.size(); ++i) first[i] += first[i - 1];
  out->tensor_count = static_cast<std::uint32_t>(tensors.size());
  out->chunk_count = static_cast<std::uint32_t>(chunks.size());
  Upload upload;
  upload.put(out->tensors, tensors);
  upload.put(out->gradients, gradients);
  upload.put(out->chunks, chunks);
  upload.put(out->first_chunk, first);
  out->scalars.take(sizeof(GpuScalars));
  out->chunk_sums.take((chunks.size() + 1) * sizeof(ChunkSums));
  out->tensor_values.take((tensors.size() + 1) * sizeof(float));
  upload.wait();
  return out;
}

bool is_recording(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  check(cudaStreamIsCapturing(stream, &status), "look at the stream");
  return status != cudaStreamCaptureStatusNone;
}

}  // namespace

struct GpuOptimizer::State {
  OptimizerKind kind;
  int device;
  std::vector<TensorEntry> tensors = {};
  std::vector<void*> gradients = {};    // current gradients of the caller
  std::vector<void*> uploaded = {};     // gradients in `tables`
  std::unique_ptr<Tables> tables = {};  // for steps that are not recorded
  std::vector<std::unique_ptr<Tables>> recorded = {};

  GpuStep describe(const Tables& from, const StepOptions& options) const {
    const bool needs_norm =
        options.max_norm > 0 || options.norm_out || (options.found_inf && options.check_finite);
    return {.tensors = from.tensors.as<TensorEntry>(),
            .gradients = from.gradients.as<void*>(),
            .chunks = from.chunks.as<Chunk>(),
            .first_chunk = from.first_chunk.as<std::uint32_t>(),
            .tensor_count = from.tensor_count,
            .chunk_count = from.chunk_count,
            .scalars = from.scalars.as<GpuScalars>(),
            .values = from.values.as<GpuValues>(),
            .chunk_sums = from.chunk_sums.as<ChunkSums>(),
            .tensor_values = from.tensor_values.as<float>(),
            .scale = options.scale,
            .found_inf = options.found_inf,
            .norm_out = options.norm_out,
            .max_norm = options.max_norm,
            .seed = options.seed,
            .average = optim::make_lerp(1 - options.ema_decay),
            .check_finite = options.check_finite,
            .needs_norm = needs_norm,
            .keep_average = options.ema_decay > 0,
            .clear_gradients = options.clear_gradients,
            .stochastic_rounding = options.stochastic_rounding};
  }

  // Returns the tables that this step reads. If gradients moved since the last step, a kernel
  // launched on the stream updates the tables.
  Tables& tables_for(cudaStream_t stream) {
    if (is_recording(stream)) {
      recorded.push_back(make_tables(tensors, gradients));
      return *recorded.back();
    }
    if (!tables) {
      tables = make_tables(tensors, gradients);
      uploaded = gradients;
    } else if (uploaded != gradients) {
      send_gradients(stream);
    }
    return *tables;
  }

  void send_gradients(cudaStream_t stream) {
    for (std::size_t first = 0; first < gradients.size(); first += kGradientsAtOnce) {
      GradientSlice slice;
      slice.first = static_cast<std::uint32_t>(first);
      slice.count = static_cast<std::uint32_t>(
          std::min<std::size_t>(kGradientsAtOnce, gradients.size() - first));
      std::copy_n(gradients.data() + first, slice.count, slice.gradients);
      launch_set_gradients(tables->gradients.as<void*>(), slice, stream);
    }
    uploaded = gradients;
  }

  void begin(const GpuStep& step, const StepOptions& options, bool sums,
             cudaStream_t stream) const {
    for (std::size_t first = 0; first < options.groups.size(); first += kGroupsAtOnce) {
      GroupSlice slice{};
      slice.first = static_cast<int>(first);
      slice.count =
          static_cast<int>(std::min<std::size_t>(kGroupsAtOnce, options.groups.size() - first));
      std::copy_n(options.groups.data() + first, slice.count, slice.groups);
      launch_begin(step, kind, slice, sums, stream);
    }
  }
};

GpuOptimizer::GpuOptimizer(OptimizerKind kind, int device) : state_(new State{kind, device}) {
  optim::check_kind(kind);
}

GpuOptimizer::~GpuOptimizer() {
  const OnDevice on_device(state_->device);
  state_->tables.reset();
  state_->recorded.clear();
}

void GpuOptimizer::bind(std::span<const TensorEntry> tensors) {
  optim::check_bound(tensors);
  const OnDevice on_device(state_->device);
  state_->tables.reset();  // waits until no kernel uses the tables
  state_->tensors.assign(tensors.begin(), tensors.end());
  state_->gradients.clear();
  for (const TensorEntry& tensor : tensors) state_->gradients.push_back(tensor.gradient);
}

void GpuOptimizer::set_gradients(std::span<void* const> gradients) {
  optim::check_gradient_count(gradients.size(), state_->tensors.size());
  state_->gradients.assign(gradients.begin(), gradients.end());
  for (std::size_t i = 0; i < gradients.size(); ++i) state_->tensors[i].gradient = gradients[i];
}

void GpuOptimizer::step(const StepOptions& options, void* stream_of_caller) {
  optim::check_step(state_->tensors, state_->kind, options.groups);
  if (state_->tensors.empty()) return;
  const OnDevice on_device(state_->device);
  auto* const stream = static_cast<cudaStream_t>(stream_of_caller);
  Tables& tables = state_->tables_for(stream);
  tables.values.reserve(options.groups.size() * sizeof(GpuValues));
  const GpuStep step = state_->describe(tables, options);
  const OptimizerKind kind = state_->kind;
  const bool of_tensors = kind == OptimizerKind::lars || kind == OptimizerKind::novograd;
  const bool sums = step.needs_norm || of_tensors;
  if (sums) launch_sums(step, kind == OptimizerKind::lars, stream);
  state_->begin(step, options, sums, stream);
  if (kind == OptimizerKind::lamb) launch_lamb_moments(step, stream);
  if (of_tensors || kind == OptimizerKind::lamb) launch_tensor_values(step, kind, stream);
  launch_update(step, kind, stream);
  check(cudaGetLastError(), "launch an optimizer's step");
}

}  // namespace tundish::cuda
