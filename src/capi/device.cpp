// Implements the GPU part of include/tundish.h.
#include <unistd.h>

#include "capi/call.h"
#include "capi/handles.h"

using namespace tundish;

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
    return new tundish_device{::getpid(),
                              std::make_unique<GpuDelivery>(*loader->engine, device, stream,
                                                            resident ? resident->pack : nullptr)};
  });
}

int32_t tundish_device_enqueue(tundish_device* device, const tundish_batch* batch,
                               void* const* out) {
  return guarded<int32_t>(TUNDISH_ERROR, [&] {
    const std::size_t views = batch->batch->views.size();
    device->delivery->enqueue(batch->batch, {{out, views}, out[views], out[views + 1]});
    return TUNDISH_OK;
  });
}

int32_t tundish_device_poll_completed(tundish_device* device, tundish_refused* out) {
  return guarded<int32_t>(TUNDISH_ERROR, [&] {
    if (out->pending) return TUNDISH_OK;
    if (const auto refused = device->delivery->poll_completed()) {
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
    refused->pending = 0;  // cleared first, so that an exception below cannot repeat the entry
    enter_refused(*loader->engine, {.sample = refused->sample,
                                    .epoch = refused->epoch,
                                    .position = refused->position,
                                    .unit_x = refused->unit_x,
                                    .unit_y = refused->unit_y,
                                    .wanted = refused->wanted != 0});
    return TUNDISH_OK;
  });
}

uint32_t tundish_device_lead(void) { return kGpuLead; }

const char* tundish_device_handed_over(tundish_device* device, int32_t gpu_decodes, void* stream) {
  return guarded<const char*>(nullptr, [&]() -> const char* {
    std::optional<std::string> reason = device->delivery->handed_over(gpu_decodes != 0, stream);
    return reason ? keep_text(std::move(*reason)) : nullptr;
  });
}

int32_t tundish_device_decoding(const tundish_device* device) {
  const std::optional<bool> on_gpu = device->delivery->decodes_on_gpu();
  return on_gpu ? static_cast<int32_t>(*on_gpu) : -1;
}

void tundish_device_forget(tundish_device* device) { device->delivery->forget(); }

void tundish_device_free(tundish_device* device) {
  if (device && device->process == ::getpid()) delete device;
}
