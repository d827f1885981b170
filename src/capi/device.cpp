// include/tundish.h, the part on a GPU.
#include <unistd.h>

#include "capi/call.h"
#include "capi/handles.h"
#include "engine/gpu_maker.h"
#include "lanes/record.h"

using namespace tundish;

namespace {

// The error of the CPU's decoder for the unit; or why the record cannot be read any more.
SampleError refusal(const Recipe& recipe, const tundish_refused& refused) {
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

int32_t tundish_loader_decode_on_gpu(tundish_loader* loader, int32_t on_gpu) {
  return guarded<int32_t>(TUNDISH_ERROR, [&] {
    if (!loader->engine->decode_on_gpu(on_gpu != 0)) {
      throw Error(ErrorCode::argument, {.file = loader->path},
                  "decode=\"gpu\": " + loader->engine->gpu_maker()->why_not());
    }
    return TUNDISH_OK;
  });
}

tundish_resident* tundish_resident_new(const tundish_source* source, int32_t device) {
  return guarded<tundish_resident*>(nullptr, [&] {
    const int image = source->source->schema().find(FieldType::image);
    return new tundish_resident{
        ::getpid(), std::make_shared<cuda::ResidentPack>(device, source->source, image)};
  });
}

int32_t tundish_resident_load(tundish_resident* resident, uint64_t samples) {
  return guarded<int32_t>(TUNDISH_ERROR,
                          [&] { return resident->pack->load(samples) ? TUNDISH_OK : TUNDISH_END; });
}

uint64_t tundish_resident_bytes(const tundish_resident* resident) {
  return resident->pack->bytes();
}

uint64_t tundish_resident_loaded(const tundish_resident* resident) {
  return resident->pack->loaded();
}

void tundish_resident_free(tundish_resident* resident) {
  if (resident && resident->process == ::getpid()) delete resident;
}

tundish_device* tundish_device_new(tundish_loader* loader, int32_t device, void* stream,
                                   const tundish_resident* resident) {
  return guarded<tundish_device*>(nullptr, [&] {
    Engine& engine = *loader->engine;
    const PixelTable table = pixel_table(engine.options().transforms);
    auto uploader = std::make_unique<cuda::GpuUploader>(
        device, stream, table, engine.options().channels_first(), engine.gpu_maker()->tables(),
        resident ? resident->pack : nullptr);
    if (resident) engine.gpu_maker()->use_resident(resident->pack->records());
    return new tundish_device{::getpid(), loader, table.dtype, std::move(uploader)};
  });
}

int32_t tundish_device_dtype(const tundish_device* device) {
  return static_cast<int32_t>(device->dtype);
}

int32_t tundish_device_finish(tundish_device* device, const tundish_batch* handle, void* images,
                              void* labels, void* samples) {
  return guarded<int32_t>(TUNDISH_ERROR, [&] {
    const Batch& batch = *handle->batch;
    const Slot& slot = *batch.slot;
    GpuSlotData* data = gpu_data(slot);
    std::vector<std::uint32_t> numbers;  // of the images that the GPU decodes
    for (std::uint32_t i = 0; data && i < batch.count; ++i) {
      if (slot.places[batch.places[i]].coded) numbers.push_back(i);
    }
    std::vector<std::uint64_t> positions;
    for (const std::size_t place : batch.places) positions.push_back(slot.first + place);
    device->uploader->finish({.keep = handle->batch,
                              .count = batch.count,
                              .size = batch.size,
                              .levels = batch.pixels,
                              .targets = batch.targets,
                              .coded = data ? data->coded.data() : nullptr,
                              .layout = data ? &data->layout : nullptr,
                              .labels = batch.labels,
                              .samples = batch.samples,
                              .epoch = batch.epoch,
                              .positions = positions,
                              .numbers = numbers},
                             {images, labels, samples});
    return TUNDISH_OK;
  });
}

int32_t tundish_device_poll_completed(tundish_device* device, tundish_refused* out) {
  return guarded<int32_t>(TUNDISH_ERROR, [&] {
    if (out->pending) return TUNDISH_OK;
    if (const auto refused = device->uploader->poll_completed()) {
      *out = {.sample = refused->sample,
              .epoch = refused->epoch,
              .position = refused->position,
              .unit_x = refused->unit_x,
              .unit_y = refused->unit_y,
              .wanted = refused->wanted,
              .pending = 1};
    }
    return TUNDISH_OK;
  });
}

int32_t tundish_loader_enter_refused(tundish_loader* loader, tundish_refused* refused) {
  return guarded<int32_t>(TUNDISH_ERROR, [&] {
    if (!refused->pending) return TUNDISH_OK;
    Engine& engine = *loader->engine;
    const auto sample = static_cast<std::uint64_t>(refused->sample);
    if (sample >= engine.recipe().source->count()) {
      refused->pending = 0;
      throw Error(ErrorCode::argument, {.file = loader->path}, "no such sample");
    }
    const SampleError error = refusal(engine.recipe(), *refused);
    refused->pending = 0;  // once, whatever is thrown below
    engine.enter_zeros(sample, refused->epoch, refused->position, error, refused->wanted != 0);
    return TUNDISH_OK;
  });
}

void tundish_device_forget(tundish_device* device) { device->uploader->forget(); }

void tundish_device_free(tundish_device* device) {
  if (device && device->process == ::getpid()) delete device;
}
