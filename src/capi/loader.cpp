// Implements the loader and batch part of include/tundish.h.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "augment/transforms_json.h"
#include "capi/call.h"
#include "capi/dlpack.h"
#include "capi/handles.h"
#include "cuda/runtime/pinned.h"
#include "loader/engine/replay.h"
#include "loader/state/saved_state.h"

using namespace tundish;

namespace {

template <class T>
void copy_list(std::vector<T>& to, const T* from, uint64_t count) {
  if (from) to.assign(from, from + count);
}

constexpr uint64_t kMaxLabelWidth = 1u << 24;

LoaderOptions options_of(const char* json, const tundish_loader_lists* lists) {
  LoaderOptions to = read_loader_options(json);
  if (to.pin_memory) {
    std::string why;
    const HostAllocator* pinned = cuda::pinned_memory(why);
    if (!pinned) throw Error(ErrorCode::argument, {}, "pin_memory: " + why);
    to.allocator = *pinned;
  }
  if (!lists) return to;
  copy_list(to.labels, lists->labels, lists->label_count);
  copy_list(to.label_vectors, lists->label_vectors, lists->label_vector_count);
  if (lists->label_width > kMaxLabelWidth) {
    throw Error(ErrorCode::argument, {}, "labels: a vector has too many numbers");
  }
  to.label_width = static_cast<std::uint32_t>(lists->label_width);
  copy_list(to.order.samples, lists->samples, lists->sample_count);
  copy_list(to.order.weights, lists->weights, lists->weight_count);
  copy_list(to.order.group_sizes, lists->group_sizes, lists->group_count);
  if (lists->trace) to.trace = lists->trace;
  return to;
}

// Returns the choices of threads="auto", oldest first.
Json tuning_json(const Engine& engine) {
  Json list = Json::array();
  for (const TuningEntry& entry : engine.tuning_entries()) {
    list.push_back({{"at_s", entry.at_s},
                    {"from", entry.change.from},
                    {"threads", entry.change.threads},
                    {"prefetch_from", entry.change.open_from},
                    {"prefetch", entry.change.open_batches},
                    {"samples_per_s", entry.change.rate},
                    {"predicted_samples_per_s", entry.change.predicted},
                    {"reason", entry.change.reason}});
  }
  return list;
}

}  // namespace

const char* tundish_reference(void) {
  static const std::string text = guarded<std::string>("{}", [] {
    return Json{{"transforms", transforms_reference()},
                {"options", reference_of<LoaderOptions>("Loader", "")},
                {"stats", reference_of<LoaderStats>()}}
        .dump();
  });
  return text.c_str();
}

tundish_loader* tundish_loader_new(const tundish_source* source, const char* options,
                                   const tundish_loader_lists* lists) {
  return guarded<tundish_loader*>(nullptr, [&] {
    auto handle = std::make_unique<tundish_loader>();
    handle->engine = std::make_unique<Engine>(source->source, options_of(options, lists));
    handle->path = source->source->path();
    const Engine& engine = *handle->engine;
    handle->about = Json{{"fingerprint", engine.identity().fingerprint},
                         {"order", engine.identity().order},
                         {"positions", engine.identity().positions},
                         {"warnings", engine.warnings()}}
                        .dump(-1, ' ', false, Json::error_handler_t::replace);
    return handle.release();
  });
}

uint32_t tundish_loader_end(tundish_loader* loader) {
  return guarded<uint32_t>(1, [&] {
    const std::vector<std::string> left = loader->engine->end();
    if (left.empty()) return uint32_t{0};
    std::string places;
    for (const std::string& place : left) places += (places.empty() ? "" : ", ") + place;
    const Error error(ErrorCode::thread_stuck, {.file = loader->path}, places);
    keep_error(error.code(), error.what());
    return static_cast<uint32_t>(left.size());
  });
}

void tundish_loader_free(tundish_loader* loader) { delete loader; }

int32_t tundish_loader_start(tundish_loader* loader, uint64_t epoch, uint64_t position) {
  return guarded<int32_t>(TUNDISH_ERROR, [&] {
    loader->engine->start(epoch, position);
    return TUNDISH_OK;
  });
}

int32_t tundish_loader_lend(tundish_loader* loader, void* memory, uint64_t bytes) {
  return guarded<int32_t>(TUNDISH_ERROR, [&] {
    loader->engine->lend({static_cast<std::byte*>(memory), bytes});
    return TUNDISH_OK;
  });
}

int32_t tundish_loader_next(tundish_loader* loader, uint32_t timeout_ms, tundish_batch** out) {
  return guarded<int32_t>(TUNDISH_ERROR, [&]() -> int32_t {
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
  });
}

uint64_t tundish_loader_steps(const tundish_loader* loader, uint64_t position) {
  return loader->engine->steps_from(position);
}

const char* tundish_loader_describe(const tundish_loader* loader) { return loader->about.c_str(); }

const char* tundish_loader_state(const tundish_loader* loader, uint64_t epoch, uint64_t position) {
  return guarded<const char*>(nullptr, [&] {
    const Engine& engine = *loader->engine;
    return keep_text(state_json(engine.identity(), engine.options(), epoch, position).dump());
  });
}

int32_t tundish_loader_read_state(const tundish_loader* loader, const char* text, uint64_t* epoch,
                                  uint64_t* position) {
  return guarded<int32_t>(TUNDISH_ERROR, [&] {
    try {
      const SavedState state = read_state(text);
      check_state(state, loader->engine->identity());
      *epoch = state.epoch;
      *position = state.position;
    } catch (const Error& error) {
      throw Error(error.code(), {.file = loader->path}, error.reason());
    }
    return TUNDISH_OK;
  });
}

const char* tundish_loader_stats(const tundish_loader* loader) {
  return guarded<const char*>(nullptr, [&] {
    Json out = json_of_all_fields(loader->engine->stats(), LoaderStats::kPrefix);
    out["tuning"] = tuning_json(*loader->engine);
    return keep_text(out.dump());
  });
}

uint64_t tundish_loader_bad_positions(const tundish_loader* loader) {
  return loader->engine->bad_positions();
}

void tundish_loader_new_window(tundish_loader* loader) { loader->engine->new_window(); }

const char* tundish_loader_bad_samples(tundish_loader* loader) {
  return guarded<const char*>("[]", [&] {
    nlohmann::json list = nlohmann::json::array();
    for (const BadSample& bad : loader->engine->bad_samples()) {
      const auto known = [](const auto& value) { return value ? nlohmann::json(*value) : nullptr; };
      list.push_back({{"sample", bad.sample},
                      {"epoch", bad.epoch},
                      {"position", bad.position},
                      {"file", printable(bad.where.file)},
                      {"record", known(bad.where.record)},
                      {"key", printable(bad.where.key)},
                      {"offset", known(bad.where.offset)},
                      {"code", error_name(bad.code)},
                      {"reason", bad.reason},
                      {"text", bad.text},
                      {"delivered", json_of_value(bad.delivered)},
                      {"replaced_by", known(bad.replaced_by)}});
    }
    return keep_text(list.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  });
}

const char* tundish_loader_hanging(tundish_loader* loader, uint32_t limit_ms) {
  return guarded<const char*>(nullptr, [&]() -> const char* {
    std::string all;
    for (const std::string& one : loader->engine->hanging(std::chrono::milliseconds(limit_ms))) {
      all += (all.empty() ? "" : "\n") + one;
    }
    return all.empty() ? nullptr : keep_text(std::move(all));
  });
}

int32_t tundish_loader_trace(tundish_loader* loader, const char* path) {
  return guarded<int32_t>(TUNDISH_ERROR, [&] {
    loader->engine->trace_to(path ? path : "");
    return TUNDISH_OK;
  });
}

int32_t tundish_loader_write_trace(const tundish_loader* loader) {
  return guarded<int32_t>(TUNDISH_ERROR, [&] {
    loader->engine->write_trace();
    return TUNDISH_OK;
  });
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

void tundish_batch_tensor_info(const tundish_batch* batch, int32_t which,
                               tundish_tensor_info* out) {
  const BatchTensor& tensor = batch->tensors[static_cast<std::size_t>(which)];
  *out = {.name = tensor.name.c_str(),
          .data = tensor.data,
          .dtype = static_cast<int32_t>(tensor.type),
          .dimensions = static_cast<int32_t>(tensor.shape.size()),
          .shape = {},
          .strides = {},
          .lent = tensor.lent};
  std::copy(tensor.shape.begin(), tensor.shape.end(), out->shape);
  std::copy(tensor.strides.begin(), tensor.strides.end(), out->strides);
}

void* tundish_batch_tensor(tundish_batch* handle, int32_t which) {
  return guarded<void*>(nullptr, [&] {
    return dlpack_of(handle->tensors.at(static_cast<std::size_t>(which)), handle->batch);
  });
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

const char* tundish_batch_plans(const tundish_loader* loader, tundish_batch* batch) {
  return guarded<const char*>(nullptr, [&] {
    Json list = Json::array();
    for (const ReplayedSample& one : replayed(*batch->batch, loader->engine->recipe())) {
      list.push_back(replay_json(one));
    }
    return keep_text(list.dump());
  });
}

void tundish_batch_free(tundish_batch* batch) { delete batch; }
