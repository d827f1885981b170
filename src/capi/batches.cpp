// Implements the batches of include/tundish.h: a loader's next batch, its tensors and fields, and
// its copy to a GPU.
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "augment/transforms_json.h"
#include "capi/call.h"
#include "capi/dlpack.h"
#include "capi/handles.h"
#include "loader/engine/replay.h"

using namespace tundish;

int32_t tundish_loader_next(tundish_loader* loader, uint32_t timeout_ms, tundish_batch** out) try {
  auto handle = std::make_unique<tundish_batch>();
  handle->batch = std::make_shared<Batch>();
  switch (loader->engine->next(*handle->batch, std::chrono::milliseconds(timeout_ms))) {
    case Engine::Next::again:
      return TUNDISH_AGAIN;
    case Engine::Next::end:
      return TUNDISH_END;
    case Engine::Next::batch:
      break;
  }
  handle->tensors = tensors_of(*handle->batch);
  *out = handle.release();
  return TUNDISH_OK;
} catch (...) {
  return failed(TUNDISH_ERROR);
}

void tundish_batch_get_info(const tundish_batch* batch, tundish_batch_info* out) {
  const Batch& from = *batch->batch;
  const auto gpu_decoded = static_cast<uint64_t>(
      std::count_if(from.places.begin(), from.places.end(),
                    [&](std::size_t place) { return from.slot->places[place].coded; }));
  *out = {.epoch = from.epoch,
          .next_position = from.next,
          .count = from.count,
          .gpu_decoded = gpu_decoded,
          .tensors = static_cast<int32_t>(batch->tensors.size()),
          .gpu_decodes = from.slot->single_task};
}

int32_t tundish_batch_tensor_info(const tundish_batch* batch, int32_t which,
                                  tundish_tensor_info* out) try {
  const BatchTensor& tensor = batch->tensors.at(static_cast<std::size_t>(which));
  *out = {.name = tensor.name.c_str(),
          .data = tensor.data,
          .dtype = static_cast<int32_t>(tensor.type),
          .dimensions = static_cast<int32_t>(tensor.shape.size()),
          .shape = {},
          .strides = {},
          .lent = tensor.lent};
  std::copy(tensor.shape.begin(), tensor.shape.end(), out->shape);
  std::copy(tensor.strides.begin(), tensor.strides.end(), out->strides);
  return TUNDISH_OK;
} catch (...) {
  return failed(TUNDISH_ERROR);
}

void* tundish_batch_tensor(tundish_batch* handle, int32_t which) try {
  return dlpack_of(handle->tensors.at(static_cast<std::size_t>(which)), handle->batch);
} catch (...) {
  return failed(nullptr);
}

int32_t tundish_batch_field(const tundish_batch* handle, uint64_t place, uint32_t field,
                            const void** bytes, uint64_t* size) {
  const Batch& batch = *handle->batch;
  if (place >= batch.places.size()) return TUNDISH_ERROR;
  const auto& fields = batch.slot->places[batch.places[place]].fields;
  if (field >= fields.size()) return TUNDISH_ERROR;
  *bytes = fields[field].data();
  *size = fields[field].size();
  return TUNDISH_OK;
}

const char* tundish_batch_plans(const tundish_loader* loader, tundish_batch* batch) try {
  Json list = Json::array();
  for (const ReplayedSample& one : replayed(*batch->batch, loader->engine->recipe())) {
    list.push_back(replay_json(one));
  }
  return keep_text(list.dump());
} catch (...) {
  return failed(nullptr);
}

void tundish_batch_free(tundish_batch* batch) { delete batch; }

// --- a GPU ---------------------------------------------------------------------------------------

tundish_device* tundish_device_new(tundish_loader* loader, int32_t device, void* stream,
                                   const tundish_resident* resident) try {
  return new tundish_device{::getpid(),
                            std::make_unique<GpuDelivery>(*loader->engine, device, stream,
                                                          resident ? resident->pack : nullptr)};
} catch (...) {
  return failed(nullptr);
}

int32_t tundish_device_enqueue(tundish_device* device, const tundish_batch* batch,
                               void* const* out) try {
  const std::size_t views = batch->batch->views.size();
  device->delivery->enqueue(batch->batch, {{out, views}, out[views], out[views + 1]});
  return TUNDISH_OK;
} catch (...) {
  return failed(TUNDISH_ERROR);
}

int32_t tundish_device_poll_completed(tundish_device* device, tundish_refused* out) try {
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
} catch (...) {
  return failed(TUNDISH_ERROR);
}

int32_t tundish_loader_report_undecodable(tundish_loader* loader, tundish_refused* refused) try {
  if (!refused->pending) return TUNDISH_OK;
  refused->pending = 0;  // cleared first, so that an exception below cannot repeat the entry
  report_undecodable(*loader->engine, {.sample = refused->sample,
                                       .epoch = refused->epoch,
                                       .position = refused->position,
                                       .unit_x = refused->unit_x,
                                       .unit_y = refused->unit_y,
                                       .wanted = refused->wanted != 0});
  return TUNDISH_OK;
} catch (...) {
  return failed(TUNDISH_ERROR);
}

uint32_t tundish_device_prefetch_depth(void) { return kGpuPrefetchDepth; }

const char* tundish_device_delivered(tundish_device* device, int32_t gpu_decodes,
                                     void* stream) try {
  std::optional<std::string> reason = device->delivery->delivered(gpu_decodes != 0, stream);
  return reason ? keep_text(std::move(*reason)) : nullptr;
} catch (...) {
  return failed(nullptr);
}

int32_t tundish_device_decoding(const tundish_device* device) {
  const std::optional<bool> on_gpu = device->delivery->decodes_on_gpu();
  return on_gpu ? static_cast<int32_t>(*on_gpu) : -1;
}

void tundish_device_abandon_iteration(tundish_device* device) {
  device->delivery->abandon_iteration();
}

void tundish_device_free(tundish_device* device) {
  if (device && device->process == ::getpid()) delete device;
}
