#include "cuda/gpu_uploader.h"

#include <algorithm>
#include <cstring>
#include <deque>

#include "augment/pixels/noise/normal_ops.h"
#include "base/host_memory.h"
#include "cuda/augment/finish.h"
#include "cuda/augment/mix.h"
#include "cuda/augment/pixel_steps.h"
#include "cuda/augment/step_order.h"
#include "cuda/augment/step_scratch.h"
#include "cuda/decode/decoder.h"
#include "cuda/decode/gather.h"
#include "cuda/decode/resident_pack.h"
#include "cuda/runtime/on_device.h"
#include "cuda/runtime/pinned.h"
#include "cuda/upload_buffers.h"
#include "cuda/upload_tail.h"

namespace tundish::cuda {
namespace {

void put(std::byte* to, const void* from, std::size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}

}  // namespace

// A batch that was enqueued.
struct GpuUploader::Sent {
  cudaEvent_t done = nullptr;
  std::shared_ptr<const void> keep;
  HostMemory errors;     // one word per image of the flat buffer
  HostMemory remaining;  // steps that remain for the images
  HostMemory label_vectors;
  std::uint64_t epoch = 0;
  bool wanted = true;
  std::vector<ImageOrigin> images;  // one per error word
};

struct GpuUploader::State {
  int device = 0;
  cudaStream_t stream = nullptr;
  PixelTable table;
  int channels = 3;
  bool channels_first = false;
  std::shared_ptr<const ResidentPack> resident;
  std::unique_ptr<BatchDecoder> decoder;
  DeviceMemory values;          // of the table
  DeviceMemory mix_values;      // of the float32 table, if images are mixed
  DeviceMemory decoded, other;  // with remaining steps: levels and a buffer of the same size
  DeviceMemory scratch;         // for steps that need it
  DeviceMemory normal;          // normal_table()

  std::vector<std::uint32_t> order;           // processing order of a batch's images
  std::deque<Refused> refused;                // found but not yet reported
  std::deque<std::unique_ptr<Sent>> sent;     // in order; not yet known to be complete
  std::vector<std::unique_ptr<Sent>> unused;  // their events and memory are reused

  UploadBuffers buffers;

  std::unique_ptr<Sent> new_sent() {
    if (!unused.empty()) {
      auto out = std::move(unused.back());
      unused.pop_back();
      return out;
    }
    auto out = std::make_unique<Sent>();
    check(cudaEventCreateWithFlags(&out->done, cudaEventDisableTiming), "make an event");
    return out;
  }

  // GPU addresses of the remaining work; null pointers: nothing remains.
  struct RemainingWork {
    const PixelStep* steps = nullptr;
    const StepRange* ranges = nullptr;
    const std::uint32_t* order = nullptr;  // of the images of each FinishTask
    const StepRange* erased = nullptr;
    const GpuErasure* erasures = nullptr;
    const Target* targets = nullptr;  // of the images decoded by the GPU
    const GpuMix* mixes = nullptr;
  };
  // Fills `order`: first the images decoded by the CPU, then the others, each list starting at 0.
  void order_images(const UploadBatch& batch) {
    const std::size_t decoded_count = batch.targets.size();
    order_by_cost(order, batch.remaining.first(decoded_count), batch.steps);
    std::vector<std::uint32_t> others;
    order_by_cost(others, batch.remaining.subspan(decoded_count), batch.steps);
    order.insert(order.end(), others.begin(), others.end());
  }

  RemainingWork copy_remaining(const UploadBatch& batch, Sent& one) {
    order_images(batch);
    std::size_t end = 0;
    const auto place = [&](auto list) {  // wide types first, for alignment
      const std::size_t at = end;
      end += list.size_bytes();
      return at;
    };
    const std::size_t at[] = {place(batch.steps),     place(batch.erasures), place(batch.mixes),
                              place(batch.remaining), place(batch.erased),   place(batch.numbers),
                              place(std::span(order))};
    one.remaining.reserve(end, kPinnedMemory);
    std::byte* host = one.remaining.data();
    put(host + at[0], batch.steps.data(), batch.steps.size_bytes());
    put(host + at[1], batch.erasures.data(), batch.erasures.size_bytes());
    put(host + at[2], batch.mixes.data(), batch.mixes.size_bytes());
    put(host + at[3], batch.remaining.data(), batch.remaining.size_bytes());
    put(host + at[4], batch.erased.data(), batch.erased.size_bytes());
    put(host + at[5], batch.numbers.data(), batch.numbers.size_bytes());
    put(host + at[6], order.data(), order.size() * sizeof(std::uint32_t));
    buffers.now().remaining.reserve(end);
    buffers.copy_up(buffers.now().remaining.as<std::byte>(), host, end);
    const std::byte* there = buffers.now().remaining.as<std::byte>();
    return {
        .steps = reinterpret_cast<const PixelStep*>(there + at[0]),
        .ranges = reinterpret_cast<const StepRange*>(there + at[3]),
        .order = reinterpret_cast<const std::uint32_t*>(there + at[6]),
        .erased =
            batch.erasures.empty() ? nullptr : reinterpret_cast<const StepRange*>(there + at[4]),
        .erasures = reinterpret_cast<const GpuErasure*>(there + at[1]),
        .targets = reinterpret_cast<const Target*>(there + at[5]),
        .mixes = batch.mixes.empty() ? nullptr : reinterpret_cast<const GpuMix*>(there + at[2])};
  }

  // Runs the remaining steps, if any, on 8-bit images.
  void run_steps(const UploadBatch& batch, std::uint8_t* images, int count,
                 const RemainingWork& work_on_gpu, std::size_t first_range) {
    if (!work_on_gpu.ranges || batch.steps.empty() || count == 0) return;
    const auto bytes = 3 * static_cast<std::size_t>(batch.size.width) *
                       static_cast<std::size_t>(batch.size.height);
    other.reserve(bytes * static_cast<std::size_t>(count));
    int blocks = 0;
    if (needs_scratch(batch.steps, batch.size)) {
      check(find_scratch_blocks(blocks), "change the pixels of a batch");
      blocks = std::min(blocks, count);
      scratch.reserve(scratch_bytes(batch.size) * static_cast<std::size_t>(blocks));
    }
    check(run_pixel_steps({.images = images,
                           .other = other.as<std::uint8_t>(),
                           .ranges = work_on_gpu.ranges + first_range,
                           .order = work_on_gpu.order + first_range,
                           .steps = work_on_gpu.steps,
                           .normal = normal.as<float>(),
                           .count = count,
                           .size = batch.size,
                           .scratch = blocks > 0 ? scratch.as<std::byte>() : nullptr,
                           .scratch_blocks = blocks},
                          stream),
          "change the pixels of a batch");
  }

  // Mixes the images, which are all present as levels, and their labels.
  void mix_images(const UploadBatch& batch, const RemainingWork& work_on_gpu, const Out& out) {
    check(mix({.mixes = work_on_gpu.mixes,
               .levels = buffers.now().levels.as<std::uint8_t>(),
               .decoded = decoded.as<std::uint8_t>(),
               .errors = decoder ? decoder->errors() : nullptr,
               .table = mix_values.as<std::uint32_t>(),
               .erased = work_on_gpu.erased,
               .erasures = work_on_gpu.erased ? work_on_gpu.erasures : nullptr,
               .normal = normal.as<float>(),
               .out = out.images,
               .labels = batch.label_vectors.empty() ? static_cast<float*>(out.labels) : nullptr,
               .dtype = table.dtype,
               .channels = channels,
               .channels_first = channels_first,
               .count = static_cast<int>(batch.mixes.size()),
               .width = batch.size.width,
               .height = batch.size.height,
               .level_count = static_cast<int>(batch.targets.size()),
               .classes = batch.classes,
               .on = batch.label_on,
               .off = batch.label_off},
              stream),
          "mix a batch");
  }

  void copy_label_vectors(const UploadBatch& batch, const Out& out, Sent& one) const {
    if (!out.labels) return;
    const std::size_t bytes = batch.label_vectors.size_bytes();
    one.label_vectors.reserve(bytes, kPinnedMemory);
    put(one.label_vectors.data(), batch.label_vectors.data(), bytes);
    check(cudaMemcpyAsync(out.labels, one.label_vectors.data(), bytes, cudaMemcpyHostToDevice,
                          stream),
          "copy the labels of a batch");
  }

  // Runs the remaining steps, if any, and converts 8-bit images to elements of the batch. Images to
  // be mixed stay levels.
  void finish_images(const UploadBatch& batch, FinishTask task, std::uint8_t* images,
                     const RemainingWork& work_on_gpu, std::size_t first_range) {
    run_steps(batch, images, task.count, work_on_gpu, first_range);
    if (work_on_gpu.mixes) return;
    if (work_on_gpu.erased) task.erased = work_on_gpu.erased + first_range;
    task.erasures = work_on_gpu.erasures;
    task.normal = normal.as<float>();
    task.levels = images;
    task.table = values.as<std::uint32_t>();
    task.dtype = table.dtype;
    task.channels = channels;
    task.channels_first = channels_first;
    task.width = batch.size.width;
    task.height = batch.size.height;
    check(tundish::cuda::finish(task, stream), "finish a batch");
  }

  // Decodes the images of the flat buffer after the copy.
  void decode(const UploadBatch& batch, const RemainingWork& work_on_gpu, void* images, Sent& one) {
    if (!decoder) throw Error(ErrorCode::argument, {}, "a batch to decode, but no tables");
    const BatchLayout& layout = *batch.layout;
    const DeviceMemory& coded = buffers.now().coded;
    if (layout.images == 0) return;
    if (layout.pieces > 0) {
      if (!resident) throw Error(ErrorCode::argument, {}, "a batch of records that are not there");
      gather_on_gpu(coded.as<std::byte>(), layout, resident->data(), stream);
    }
    if (work_on_gpu.ranges) {
      const auto bytes = 3 * static_cast<std::size_t>(batch.size.width) *
                         static_cast<std::size_t>(batch.size.height);
      decoded.reserve(bytes * layout.images);
      decoder->decode_on_gpu(decoded.as<void>(), coded.as<std::byte>(), layout, stream, true);
      finish_images(batch,
                    {.targets = work_on_gpu.targets,
                     .errors = decoder->errors(),
                     .out = images,
                     .count = static_cast<int>(layout.images)},
                    decoded.as<std::uint8_t>(), work_on_gpu, batch.targets.size());
    } else {
      decoder->decode_on_gpu(images, coded.as<std::byte>(), layout, stream);
    }
    one.errors.reserve(layout.images * sizeof(std::uint32_t), kPinnedMemory);
    decoder->copy_errors(reinterpret_cast<std::uint32_t*>(one.errors.data()), layout, stream);
    one.images.assign(batch.origins.begin(), batch.origins.end());
  }
};

GpuUploader::GpuUploader(int device, void* stream, const PixelTable& table,
                         const PixelTable* mix_table, int channels, bool channels_first,
                         const lanes::Tables* tables, std::shared_ptr<const ResidentPack> resident)
    : state_(new State) {
  State& state = *state_;
  state.device = device;
  state.stream = static_cast<cudaStream_t>(stream);
  state.table = table;
  state.channels = channels;
  state.channels_first = channels_first;
  state.resident = std::move(resident);
  const OnDevice on(device);
  state.buffers.make(state.stream);
  state.values.reserve(sizeof table.value);
  check(cudaMemcpy(state.values.as<void>(), table.value.data(), sizeof table.value,
                   cudaMemcpyHostToDevice),
        "copy the table of values");
  if (mix_table) {
    state.mix_values.reserve(sizeof mix_table->value);
    check(cudaMemcpy(state.mix_values.as<void>(), mix_table->value.data(), sizeof mix_table->value,
                     cudaMemcpyHostToDevice),
          "copy the table of values");
  }
  constexpr std::size_t kNormalBytes = (kNormalParts + 1) * sizeof(float);
  state.normal.reserve(kNormalBytes);
  check(cudaMemcpy(state.normal.as<void>(), normal_table(), kNormalBytes, cudaMemcpyHostToDevice),
        "copy the table of normal numbers");
  if (tables) state.decoder = std::make_unique<BatchDecoder>(*tables, table);
  // Copies and clears made so far are not ordered before the work of `stream`.
  check(cudaStreamSynchronize(nullptr), "copy tables");
}

GpuUploader::~GpuUploader() {
  const OnDevice on(state_->device);
  state_->buffers.synchronize();
  cudaStreamSynchronize(state_->stream);
  for (const auto& one : state_->sent) cudaEventDestroy(one->done);
  for (const auto& one : state_->unused) cudaEventDestroy(one->done);
  state_.reset();
}

void GpuUploader::enqueue(const UploadBatch& batch, const Out& out) {
  State& state = *state_;
  if (batch.samples.empty()) return;
  const OnDevice on(state.device);
  std::unique_ptr<Sent> one = state.new_sent();
  one->keep = batch.keep;
  one->images.clear();
  one->epoch = batch.epoch;
  one->wanted = true;
  try {
    put_on_stream(batch, out, *one);
  } catch (...) {
    // Some work may be on the streams, and the caller releases the batch's memory now.
    state.buffers.synchronize();
    cudaStreamSynchronize(state.stream);
    one->keep.reset();
    state.unused.push_back(std::move(one));
    throw;
  }
  state.sent.push_back(std::move(one));
}

void GpuUploader::put_on_stream(const UploadBatch& batch, const Out& out, Sent& one) {
  State& state = *state_;
  // The tail follows the flat buffer if the batch has one, otherwise the levels.
  const bool flat = batch.coded != nullptr;
  const std::size_t level_count = batch.targets.size();
  const std::size_t level_bytes = 3 * static_cast<std::size_t>(batch.size.width) *
                                  static_cast<std::size_t>(batch.size.height) * level_count;
  const std::size_t samples = batch.samples.size();
  const UploadTail tail(flat ? batch.layout->bytes : level_bytes, samples, flat ? 0 : level_count);
  std::byte* host = flat ? batch.coded : batch.levels;
  const std::size_t begin = flat ? batch.layout->host_at : 0;  // start of the host's part
  put(host + (tail.labels - begin), batch.labels.data(), 8 * samples);
  put(host + (tail.samples - begin), batch.samples.data(), 8 * samples);

  state.buffers.begin();
  DeviceMemory &coded = state.buffers.now().coded, &levels = state.buffers.now().levels;
  const State::RemainingWork remaining =
      batch.remaining.empty() ? State::RemainingWork{} : state.copy_remaining(batch, one);
  if (flat) {
    coded.reserve(tail.end);
    state.buffers.copy_up(coded.as<std::byte>() + begin, batch.coded, tail.end - begin);
  }
  const UploadTail own = flat ? UploadTail(level_bytes, 0, level_count) : tail;
  if (level_count > 0) {
    put(batch.levels + own.target, batch.targets.data(), batch.targets.size_bytes());
    levels.reserve(own.end);
    state.buffers.copy_up(levels.as<std::byte>(), batch.levels, own.end);
  }
  state.buffers.end();

  if (flat) state.decode(batch, remaining, out.images, one);
  if (level_count > 0) {
    auto* there = levels.as<std::uint8_t>();
    state.finish_images(batch,
                        {.targets = reinterpret_cast<const Target*>(there + own.target),
                         .out = out.images,
                         .count = static_cast<int>(level_count)},
                        there, remaining, 0);
  }
  const std::byte* there = (flat ? coded : levels).as<std::byte>();
  const auto numbers = [&](void* to, std::size_t from) {
    if (!to) return;
    check(cudaMemcpyAsync(to, there + from, 8 * samples, cudaMemcpyDeviceToDevice, state.stream),
          "copy the numbers of a batch");
  };
  if (remaining.mixes) state.mix_images(batch, remaining, out);
  if (!batch.label_vectors.empty()) {
    state.copy_label_vectors(batch, out, one);
  } else if (!remaining.mixes) {
    numbers(out.labels, tail.labels);
  }
  numbers(out.samples, tail.samples);
  state.buffers.used();
  check(cudaEventRecord(one.done, state.stream), "record an event");
}

std::optional<GpuUploader::Refused> GpuUploader::poll_completed() {
  State& state = *state_;
  const OnDevice on(state.device);
  while (!state.sent.empty()) {
    Sent& one = *state.sent.front();
    const cudaError_t status = cudaEventQuery(one.done);
    if (status == cudaErrorNotReady) {
      (void)cudaGetLastError();  // "not ready" is not an error; clears the error state
      break;
    }
    check(status, "make a batch");
    const auto* errors = reinterpret_cast<const std::uint32_t*>(one.errors.data());
    for (std::size_t i = 0; i < one.images.size(); ++i) {
      if (errors[i] == kNoError || one.images[i].sample < 0) continue;
      state.refused.push_back({.sample = one.images[i].sample,
                               .epoch = one.epoch,
                               .position = one.images[i].position,
                               .unit_x = static_cast<int>(errors[i] & 0xffff),
                               .unit_y = static_cast<int>(errors[i] >> 16),
                               .wanted = one.wanted});
    }
    one.keep.reset();
    state.unused.push_back(std::move(state.sent.front()));
    state.sent.pop_front();
  }
  if (state.refused.empty()) return std::nullopt;
  const Refused first = state.refused.front();
  state.refused.pop_front();
  return first;
}

void GpuUploader::abandon_iteration() {
  for (Refused& one : state_->refused) one.wanted = false;
  for (const auto& one : state_->sent) one->wanted = false;
}

}  // namespace tundish::cuda
