#include "engine/gpu/gpu_delivery.h"

#include <vector>

#include "engine/gpu/gpu_maker.h"
#include "lanes/record.h"

namespace tundish {
namespace {

// The error of the CPU's decoder; or why the record cannot be read any more.
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
    : engine_(engine),
      dtype_(pixel_table(engine.options().transforms).dtype),
      uploader_(device, stream, pixel_table(engine.options().transforms),
                engine.options().channels_first(), engine.gpu_maker()->tables(), resident) {
  if (resident) engine.gpu_maker()->use_resident(resident->records());
  if (engine.can_choose_decoder()) {
    choice_.emplace(cuda::new_stream_clock(device), engine.options().prefetch);
  }
}

void GpuDelivery::enqueue(const std::shared_ptr<const Batch>& batch,
                          const cuda::GpuUploader::Out& out) {
  const Slot& slot = *batch->slot;
  GpuSlotData* data = gpu_data(slot);
  std::vector<std::uint32_t> numbers;  // of the images that the GPU decodes
  for (std::uint32_t i = 0; data && i < batch->count; ++i) {
    if (slot.places[batch->places[i]].coded) numbers.push_back(i);
  }
  std::vector<std::uint64_t> positions;
  for (const std::size_t place : batch->places) positions.push_back(slot.first + place);
  const StepsLeft left = steps_left(*batch, dtype_);
  uploader_.enqueue({.keep = batch,
                     .count = batch->count,
                     .size = batch->size,
                     .levels = batch->pixels,
                     .targets = batch->targets,
                     .coded = data ? data->coded.data() : nullptr,
                     .layout = data ? &data->layout : nullptr,
                     .labels = batch->labels,
                     .samples = batch->samples,
                     .epoch = batch->epoch,
                     .positions = positions,
                     .numbers = numbers,
                     .left = left.ranges,
                     .steps = left.steps,
                     .erased = left.erased,
                     .erasures = left.erasures},
                    out);
}

std::optional<std::string> GpuDelivery::handed_over(bool on_gpu, void* stream) {
  if (!choice_ || choice_->chosen()) return {};
  std::optional<std::string> reason = choice_->handed_over(on_gpu, engine_.ready(), stream);
  engine_.decode_on_gpu(choice_->use_gpu());
  return reason;
}

std::optional<bool> GpuDelivery::decodes_on_gpu() const {
  if (choice_) return choice_->chosen();
  return engine_.decodes_on_gpu();
}

void enter_refused(Engine& engine, const cuda::GpuUploader::Refused& refused) {
  const Source& source = *engine.recipe().source;
  const auto sample = static_cast<std::uint64_t>(refused.sample);
  if (sample >= source.count()) {
    throw Error(ErrorCode::argument, {.file = source.path()}, "no such sample");
  }
  engine.enter_zeros(sample, refused.epoch, refused.position, refusal(engine.recipe(), refused),
                     refused.wanted);
}

}  // namespace tundish
