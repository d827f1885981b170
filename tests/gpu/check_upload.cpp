// Compares the upload of a batch to the GPU (cuda/gpu_uploader.h) with reference implementations:
//
//   check_upload CASES SEED
//
// Batches have any size, type and layout. Images decoded by the CPU and by the GPU share a batch.
// The GPU decodes from host memory or from records kept on the GPU. Some images are undecodable,
// some are mixed. Prints one line. Exits with 1 if anything differed.
#include <cuda_runtime.h>
#include <fmt/format.h>

#include <bit>
#include <cstdlib>
#include <cstring>

#include "augment/cpu/layout.h"
#include "augment/erase_row.h"
#include "augment/pixels/pixel_runner.h"
#include "augment/pixels/random_step.h"
#include "augment/transforms.h"
#include "base/host_memory.h"
#include "cuda/augment/finish_reference.h"
#include "cuda/decode/batch_reference.h"
#include "cuda/decode/resident_pack.h"
#include "cuda/decode/testing.h"
#include "cuda/gpu_uploader.h"
#include "cuda/runtime/pinned.h"
#include "cuda/runtime/runtime.h"
#include "upload_batch.h"

namespace {

using namespace tundish;
using namespace tundish::cuda;

struct Totals {
  int images = 0, mixed = 0, refused = 0, wrong = 0;
};

// Adds GPU steps for every image, in half of the batches.
void add_steps(Batch& batch, Random& random) {
  if (random.below(2) == 0) return;
  for (std::size_t i = 0; i < batch.labels.size(); ++i) {
    const auto first = static_cast<std::uint32_t>(batch.steps.size());
    for (int n = between(random, 0, 3); n > 0; --n) {
      if (random.below(6) == 0) {
        add_random_mix(batch.steps, random, batch.size, runs_on_gpu_in_mix);
        continue;
      }
      const PixelStep step = random_step(random, batch.size);
      if (runs_on_gpu(step)) batch.steps.push_back(step);
    }
    batch.remaining.push_back({first, static_cast<std::uint32_t>(batch.steps.size()) - first});
    const auto before = static_cast<std::uint32_t>(batch.erasures.size());
    if (batch.table.dtype != Dtype::uint8 && random.below(2) == 0) {
      batch.erasures.push_back(
          {.window = {between(random, -9, batch.size.width), between(random, -9, 40),
                      between(random, 1, 50), between(random, 1, 50)},
           .random = random.below(2) == 0,
           .value = {0.5f, -1.25f, 3.0f},
           .key = random.next()});
      batch.gpu_erasures.push_back(gpu_erasure(batch.erasures.back(), batch.table.dtype));
    }
    batch.erased.push_back({before, static_cast<std::uint32_t>(batch.erasures.size()) - before});
  }
}

std::unique_ptr<Batch> random_batch(Random& random) {
  auto out = std::make_unique<Batch>();
  int count = between(random, 1, 12);
  out->size = {between(random, 1, 70), between(random, 1, 70)};
  if (random.below(12) == 0) {  // larger than the shared memory of a block
    count = between(random, 1, 2);
    (random.below(2) == 0 ? out->size.width : out->size.height) = between(random, 200, 2500);
  }
  if (random.below(2) == 0) out->size.width = (out->size.width + 3) / 4 * 4;
  out->table = random_table(random);
  out->channels_first = random.below(2) == 0;
  const int share = between(random, 0, 4);  // quarters decoded by the GPU
  for (int i = 0; i < count; ++i) {
    out->labels.push_back(static_cast<std::int64_t>(random.next()));
    if (between(random, 0, 3) >= share) {
      out->samples.push_back(-i);
      out->targets.push_back(static_cast<Target>(i) | (random.below(2) == 0 ? kMirrored : 0));
      for (int k = 0; k < 3 * out->size.width * out->size.height; ++k) {
        out->levels.push_back(static_cast<std::uint8_t>(random.below(256)));
      }
      continue;
    }
    std::vector<std::byte> record;
    View view({1, 1});
    BatchPlan plan;
    do {  // repeats for images that a huge reduction assigns to the CPU
      record = random_record(random, 200, lanes::builtin_tables());
      if (random.below(8) == 0) {
        std::vector<std::byte> changed = record;
        changed[at(random.below(changed.size()))] ^= std::byte{64};
        if (seal_again(changed)) record = changed;
      }
      const Size image = size_of(record);
      view = View(image);
      view.crop(lanes::random_window(random, image.width, image.height));
      view.resize(out->size, static_cast<Filter>(random.below(3)));
      if (random.below(2) == 0) view.mirror_x();
      plan.begin();
    } while (plan.add(record, view, {}, true).made_by != MadeBy::gpu);
    out->views.push_back(view);
    out->numbers.push_back(static_cast<std::uint32_t>(i));
    out->samples.push_back(static_cast<std::int64_t>(out->source.items.size()));
    out->source.items.push_back({std::to_string(i), 0, {record}, {}});
  }
  add_steps(*out, random);
  add_mixes(*out, random);
  return out;
}

// Mirrors loader/engine/gpu/gpu_maker.cpp.
void plan_batch(BatchPlan& plan, const Batch& batch, const ResidentRecords* resident) {
  const int width = batch.size.width, height = batch.size.height;
  plan.begin({}, resident != nullptr);
  for (std::size_t i = 0; i < batch.views.size(); ++i) {
    ElementPlace place{batch.numbers[i] * elements(batch.size), 3 * width, 3, 1};
    if (batch.channels_first) place = {place.first, width, 1, width * height};
    if (!batch.remaining.empty()) place = {i * elements(batch.size), 3 * width, 3, 1};
    const Added added =
        resident ? plan.add_resident(resident->record(i), resident->at(i), batch.views[i], place)
                 : plan.add(batch.source.items[i].fields[0], batch.views[i], place, true);
    if (added.fault || added.made_by != MadeBy::gpu) {
      throw Error(ErrorCode::argument, {}, "a record that no plan takes");
    }
  }
  plan.finish();
}

// Runs the remaining steps on images of 8-bit levels.
void run_steps(std::vector<std::uint8_t>& levels, std::size_t images, std::size_t first_range,
               const Batch& batch) {
  const auto pixels = static_cast<std::ptrdiff_t>(elements(batch.size));
  for (std::size_t i = 0; !batch.remaining.empty() && i < images; ++i) {
    const auto begin = levels.begin() + static_cast<std::ptrdiff_t>(i) * pixels;
    std::vector<std::uint8_t> image(begin, begin + pixels);
    Size size = batch.size;
    const auto [first, count] = batch.remaining[first_range + i];
    run_reference(std::span(batch.steps).subspan(first, count), image, size);
    std::copy(image.begin(), image.end(), begin);
  }
}

// Writes images of 8-bit levels to the batch.
void finish_levels(std::vector<std::byte>& out, const std::vector<std::uint8_t>& levels,
                   std::span<const Target> targets, std::size_t first_range, const Batch& batch) {
  finish_reference(out.data(), levels.data(), targets, batch.size, batch.table,
                   batch.channels_first);
  const std::size_t bytes = at(elements(batch.size)) * dtype_bytes(batch.table.dtype);
  for (std::size_t i = 0; !batch.remaining.empty() && i < targets.size(); ++i) {
    const auto [first, count] = batch.erased[first_range + i];
    const Placement place = placement(out.data() + (targets[i] & ~kMirrored) * bytes, batch.size,
                                      batch.table.dtype, batch.channels_first);
    for (int y = 0; y < batch.size.height; ++y) {
      erase_row(std::span(batch.erasures).subspan(first, count), place, batch.table.dtype, y,
                batch.size.width);
    }
  }
}

// Makes the batch with the reference implementations; returns the error of each GPU-decoded image.
std::vector<std::uint32_t> make_reference(std::vector<std::byte>& out, const Batch& batch) {
  BatchPlan slow;
  plan_batch(slow, batch, nullptr);
  std::vector<std::byte> buffer(at(slow.layout().bytes));
  slow.gather(buffer.data());
  std::vector<std::uint8_t> own = batch.levels;
  run_steps(own, batch.targets.size(), 0, batch);
  if (batch.mixes.empty()) finish_levels(out, own, batch.targets, 0, batch);
  if (batch.remaining.empty()) {
    return run_batch_reference(out.data(), buffer.data(), slow.layout(), lanes::builtin_tables(),
                               batch.table);
  }
  std::vector<std::uint8_t> levels(at(batch.views.size() * elements(batch.size)));
  const auto errors =
      run_batch_reference(reinterpret_cast<std::byte*>(levels.data()), buffer.data(), slow.layout(),
                          lanes::builtin_tables(), pixel_table({}));
  run_steps(levels, batch.numbers.size(), batch.targets.size(), batch);
  if (!batch.mixes.empty()) {
    mix_all(out, own, levels, errors, batch);
    return errors;
  }
  finish_levels(out, levels, batch.numbers, batch.targets.size(), batch);
  const std::size_t bytes = at(elements(batch.size)) * dtype_bytes(batch.table.dtype);
  for (std::size_t i = 0; i < errors.size(); ++i) {
    if (errors[i] != kNoError) std::memset(out.data() + batch.numbers[i] * bytes, 0, bytes);
  }
  return errors;
}

void check_errors(Totals& totals, GpuUploader& uploader, const Batch& batch,
                  const std::vector<std::uint32_t>& errors, bool wanted) {
  for (std::size_t i = 0; i < errors.size(); ++i) {
    if (errors[i] == kNoError) continue;
    const auto refused = uploader.poll_completed();
    ++totals.refused;
    totals.wrong += !refused || refused->sample != static_cast<std::int64_t>(i) ||
                    refused->epoch != 3 || refused->position != 1000 + 7 * batch.numbers[i] ||
                    refused->wanted != wanted ||
                    error_word(refused->unit_x, refused->unit_y) != errors[i];
  }
  totals.wrong += uploader.poll_completed().has_value();
}

template <class T>
void copy_down(std::vector<T>& to, const void* from, cudaStream_t stream) {
  check(cudaMemcpyAsync(to.data(), from, sizeof(T) * to.size(), cudaMemcpyDeviceToHost, stream),
        "");
}

// Addresses of a batch on the GPU: images; labels followed by sample numbers; mixed
// labels.
struct Uploaded {
  const void* images;
  const std::int64_t* numbers;
  const void* soft;
};

void compare(Totals& totals, const Batch& batch, const Uploaded& there,
             const std::vector<std::byte>& expected, cudaStream_t stream) {
  const std::size_t count = batch.labels.size();
  std::vector<std::byte> got(expected.size());
  std::vector<std::int64_t> labels(count), samples(count);
  copy_down(got, there.images, stream);
  std::vector<float> soft_labels(batch.mixes.empty() ? 0 : kClasses * count);
  if (batch.mixes.empty()) {
    copy_down(labels, there.numbers, stream);
  } else {
    copy_down(soft_labels, there.soft, stream);
  }
  copy_down(samples, there.numbers + count, stream);
  check(cudaStreamSynchronize(stream), "run the kernels");
  totals.images += static_cast<int>(count);
  totals.mixed += static_cast<int>(batch.mixes.size());
  if (!batch.mixes.empty()) {
    labels = batch.labels;
    totals.wrong += soft_labels != soft_labels_reference(batch);
  }
  totals.wrong += got != expected || labels != batch.labels || samples != batch.samples;
}

void check_one(Totals& totals, GpuUploader& uploader, Batch& batch, cudaStream_t stream,
               const ResidentPack* resident) {
  const std::size_t count = batch.labels.size();
  const std::size_t bytes = at(count * elements(batch.size)) * dtype_bytes(batch.table.dtype);
  BatchPlan plan;
  plan_batch(plan, batch, resident ? resident->records().get() : nullptr);
  const BatchLayout layout = plan.layout();
  HostMemory coded, levels;
  coded.reserve(at(layout.host_bytes()) + 20 * count + 128, kPinnedMemory);
  plan.gather(coded.data());
  levels.reserve(batch.levels.size() + 20 * count + 128, kPinnedMemory);
  if (!batch.levels.empty()) std::memcpy(levels.data(), batch.levels.data(), batch.levels.size());

  std::vector<std::byte> expected(bytes);
  const std::vector<std::uint32_t> errors = make_reference(expected, batch);

  DeviceMemory images, numbers, soft;
  soft.reserve(4 * kClasses * count);
  images.reserve(bytes);
  numbers.reserve(16 * count);
  std::vector<ImageOrigin> origins;
  for (const std::uint32_t number : batch.numbers) {
    origins.push_back({batch.samples[number], 1000 + 7 * number});
  }
  const bool flat = !batch.views.empty() || count % 2 == 0;  // a flat buffer may be empty
  uploader.enqueue({.keep = {},
                    .size = batch.size,
                    .levels = levels.data(),
                    .targets = batch.targets,
                    .coded = flat ? coded.data() : nullptr,
                    .layout = &layout,
                    .labels = batch.labels,
                    .samples = batch.samples,
                    .epoch = 3,
                    .numbers = batch.numbers,
                    .origins = origins,
                    .remaining = batch.remaining,
                    .steps = batch.steps,
                    .erased = batch.erased,
                    .erasures = batch.gpu_erasures,
                    .mixes = batch.gpu_mixes,
                    .classes = kClasses,
                    .label_on = kOn,
                    .label_off = kOff},
                   {images.as<void>(), batch.mixes.empty() ? numbers.as<void>() : soft.as<void>(),
                    numbers.as<std::int64_t>() + count});
  const bool wanted = count % 3 != 0;
  if (!wanted) uploader.abandon_iteration();
  compare(totals, batch, {images.as<void>(), numbers.as<std::int64_t>(), soft.as<void>()}, expected,
          stream);
  check_errors(totals, uploader, batch, errors, wanted);
}

}  // namespace

int main(int count, char** words) {
  if (count != 3) {
    fmt::print(stderr, "usage: check_upload CASES SEED\n");
    return 2;
  }
  Totals totals;
  const std::uint64_t cases = std::strtoull(words[1], nullptr, 10);
  const std::uint64_t seed = std::strtoull(words[2], nullptr, 10);
  try {
    cudaStream_t stream = nullptr;
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "make a stream");
    for (std::uint64_t i = 0; i < cases; ++i) {
      Random random({.seed = seed, .sample = i}, 0);
      std::unique_ptr<Batch> batch = random_batch(random);
      std::shared_ptr<ResidentPack> resident;
      if (i % 3 == 0) {
        const auto source = std::make_shared<Records>(batch->source);
        resident = std::make_shared<ResidentPack>(0, source, 0);
        while (resident->load(1 + random.below(4))) {
        }
      }
      GpuUploader uploader(0, stream, batch->table,
                           batch->mixes.empty() ? nullptr : &batch->float_table, 3,
                           batch->channels_first, &lanes::builtin_tables(), resident);
      const int wrong = totals.wrong;
      for (int times = 0; times < 2; ++times) {  // the second pass reuses the memory
        check_one(totals, uploader, *batch, stream, resident.get());
      }
      if (totals.wrong != wrong) fmt::print("upload: case {} is wrong\n", i);
    }
    cudaStreamDestroy(stream);
  } catch (const std::exception& error) {
    fmt::print("upload: {}\n", error.what());
    return 1;
  }
  fmt::print(
      "upload: {} batches, {} images equal to the twins', {} of them mixed, {} refused by both, {} "
      "wrong\n",
      2 * cases, totals.images, totals.mixed, totals.refused, totals.wrong);
  return totals.wrong == 0 ? 0 : 1;
}
