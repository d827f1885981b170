#include "loader/engine/gpu/gpu_delivery.h"

#include <array>
#include <vector>

#include "codec/lanes/record.h"
#include "loader/engine/gpu/gpu_maker.h"
#include "loader/engine/gpu/gpu_mixes.h"
#include "loader/engine/mixer.h"

namespace tundish {
namespace {

// Returns the error of the CPU's decoder, or the error of reading the record again.
SampleError refusal(const Recipe& recipe, const cuda::GpuUploader::Refused& refused) {
  const auto number = static_cast<std::uint64_t>(refused.sample);
  const Where where = recipe.source->where_in(number, recipe.image_field);
  try {
    Sample sample;
    recipe.source->read(sample, number, FieldSet{1} << recipe.image_field);
    lanes::Record record;
    if (auto fault = record.read(sample.fields[static_cast<std::size_t>(recipe.image_field)])) {
      return SampleError(*fault, where);
    }
    const lanes::Geometry& geometry = record.geometry();
    if (refused.unit_x < 0 || refused.unit_x >= geometry.units_x || refused.unit_y < 0 ||
        refused.unit_y >= geometry.units_y) {
      return SampleError(ErrorCode::image_damaged, where, "a unit of it cannot be decoded");
    }
    return SampleError(record.unit_fault(refused.unit_x, refused.unit_y), where);
  } catch (const Error& error) {
    return SampleError(error.code(), error.where(), error.reason());
  }
}

}  // namespace

GpuDelivery::GpuDelivery(Engine& engine, int device, void* stream,
                         std::shared_ptr<const cuda::ResidentPack> resident)
    : engine_(engine) {
  if (engine.recipe().image_field < 0) {
    arrays_ = std::make_unique<cuda::ArrayUploader>(device, stream);
    return;
  }
  for (const ViewRecipe& view : engine.recipe().views) {
    const PixelTable table = pixel_table(view.transforms), mix_table = float_table(view.transforms);
    uploaders_.push_back(std::make_unique<cuda::GpuUploader>(
        device, stream, table, engine.mixer() ? &mix_table : nullptr,
        channels_of(engine.recipe().mode), engine.options().channels_first(),
        engine.gpu_maker()->tables(), resident));
  }
  if (resident) engine.gpu_maker()->use_resident(resident->records());
  if (engine.can_choose_decoder()) {
    choice_.emplace(cuda::new_stream_clock(device), engine.options().prefetch);
    engine.hold_tuning(true);  // one measurement at a time
  }
}

void GpuDelivery::enqueue(const std::shared_ptr<const Batch>& batch, const Out& out) {
  if (arrays_) return enqueue_arrays(batch, out);
  for (std::size_t v = 0; v < uploaders_.size(); ++v) {
    enqueue_view(batch, v,
                 {.images = out.images[v],
                  .labels = v == 0 ? out.labels : nullptr,
                  .samples = v == 0 ? out.samples : nullptr});
  }
}

void GpuDelivery::enqueue_arrays(const std::shared_ptr<const Batch>& batch, const Out& out) {
  std::vector<cuda::ArrayCopy> arrays;
  for (std::size_t v = 0; v < batch->views.size(); ++v) {
    const std::size_t each = engine_.recipe().views[v].array_bytes;
    arrays.push_back({batch->views[v].pixels, out.images[v], each * batch->count});
  }
  const bool vectors = batch->classes > 0;
  const cuda::ArrayCopy labels =
      vectors ? cuda::ArrayCopy{batch->soft_labels.data(), out.labels,
                                sizeof(float) * batch->soft_labels.size()}
              : cuda::ArrayCopy{batch->labels.data(), out.labels, 8 * batch->labels.size()};
  const std::array numbers{
      labels, cuda::ArrayCopy{batch->samples.data(), out.samples, 8 * batch->samples.size()}};
  arrays_->enqueue(batch, arrays, numbers);
}

void GpuDelivery::enqueue_view(const std::shared_ptr<const Batch>& batch, std::size_t number,
                               const cuda::GpuUploader::Out& out) {
  const Slot& slot = *batch->slot;
  const BatchView& view = batch->views[number];
  GpuViewData* data = gpu_data(slot) ? &gpu_data(slot)->views[number] : nullptr;
  std::vector<std::uint32_t> numbers;  // indices of images that the GPU decodes
  std::vector<cuda::ImageOrigin> origins;
  for (std::uint32_t i = 0; data && i < batch->count * view.crops; ++i) {
    const std::size_t place = batch->places[i / view.crops];
    if (!slot.places[place].coded) continue;
    numbers.push_back(i);
    origins.push_back({batch->samples[i / view.crops], slot.places[place].position});
  }
  for (const std::size_t place : batch->foreign_partners) {
    if (!slot.places[place].coded) continue;
    numbers.push_back(0);
    origins.push_back({-1, 0});
  }
  const Mixer* const mixer = engine_.mixer();
  const RemainingSteps remaining = remaining_steps(*batch, images_of_view(engine_.recipe(), number),
                                                   mixer ? Dtype::float32 : view.dtype);
  const std::vector<cuda::GpuMix> mixes = gpu_mixes(*batch);
  const Mixer::LabelValues values = mixer ? mixer->label_values() : Mixer::LabelValues{};
  uploaders_[number]->enqueue({.keep = batch,
                               .size = view.size,
                               .levels = view.pixels,
                               .targets = view.targets,
                               .coded = data ? data->coded.data() : nullptr,
                               .layout = data ? &data->layout : nullptr,
                               .labels = batch->labels,
                               .samples = batch->samples,
                               .epoch = batch->epoch,
                               .numbers = numbers,
                               .origins = origins,
                               .remaining = remaining.ranges,
                               .steps = remaining.steps,
                               .erased = remaining.erased,
                               .erasures = remaining.erasures,
                               .mixes = mixes,
                               .classes = static_cast<int>(batch->classes),
                               .label_on = values.on,
                               .label_off = values.off,
                               .label_vectors = batch->soft_labels},
                              out);
}

std::optional<cuda::GpuUploader::Refused> GpuDelivery::poll_completed() {
  if (arrays_) arrays_->poll_completed();
  std::optional<cuda::GpuUploader::Refused> refused;
  for (const auto& uploader : uploaders_) {  // every one, because each releases memory
    if (!refused) refused = uploader->poll_completed();
  }
  return refused;
}

void GpuDelivery::abandon_iteration() {
  for (const auto& uploader : uploaders_) uploader->abandon_iteration();
}

std::optional<std::string> GpuDelivery::delivered(bool on_gpu, void* stream) {
  if (!choice_ || choice_->chosen()) return {};
  std::optional<std::string> reason = choice_->delivered(on_gpu, engine_.ready(), stream);
  engine_.decode_on_gpu(choice_->use_gpu());
  engine_.hold_tuning(!choice_->chosen());
  return reason;
}

std::optional<bool> GpuDelivery::decodes_on_gpu() const {
  if (choice_) return choice_->chosen();
  return engine_.decodes_on_gpu();
}

void report_undecodable(Engine& engine, const cuda::GpuUploader::Refused& refused) {
  const Source& source = *engine.recipe().source;
  const auto sample = static_cast<std::uint64_t>(refused.sample);
  if (sample >= source.count()) {
    throw Error(ErrorCode::argument, {.file = source.path()}, "no such sample");
  }
  engine.record_zeros(sample, refused.epoch, refused.position, refusal(engine.recipe(), refused),
                      refused.wanted);
}

}  // namespace tundish
