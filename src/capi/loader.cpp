// Implements the loader part of include/tundish.h, except its batches (batches.cpp).
#include <algorithm>
#include <nlohmann/json.hpp>

#include "augment/transforms_json.h"
#include "capi/call.h"
#include "capi/handles.h"
#include "cuda/runtime/pinned.h"
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

const char* tundish_reference(void) try {
  static const std::string text = Json{
      {"transforms", transforms_reference()},
      {"options", reference_of<LoaderOptions>("Loader", "")},
      {"stats",
       reference_of<LoaderStats>()}}.dump();
  return text.c_str();
} catch (...) {
  return failed("{}");
}

tundish_loader* tundish_loader_new(const tundish_source* source, const char* options,
                                   const tundish_loader_lists* lists) try {
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
} catch (...) {
  return failed(nullptr);
}

uint32_t tundish_loader_end(tundish_loader* loader) try {
  const std::vector<std::string> left = loader->engine->end();
  if (left.empty()) return uint32_t{0};
  std::string places;
  for (const std::string& place : left) places += (places.empty() ? "" : ", ") + place;
  const Error error(ErrorCode::thread_stuck, {.file = loader->path}, places);
  keep_error(error.code(), error.what());
  return static_cast<uint32_t>(left.size());
} catch (...) {
  return failed(uint32_t{1});
}

void tundish_loader_free(tundish_loader* loader) { delete loader; }

int32_t tundish_loader_start(tundish_loader* loader, uint64_t epoch, uint64_t position) try {
  loader->engine->start(epoch, position);
  return TUNDISH_OK;
} catch (...) {
  return failed(TUNDISH_ERROR);
}

int32_t tundish_loader_lend(tundish_loader* loader, void* memory, uint64_t bytes) try {
  loader->engine->lend({static_cast<std::byte*>(memory), bytes});
  return TUNDISH_OK;
} catch (...) {
  return failed(TUNDISH_ERROR);
}

uint64_t tundish_loader_steps(const tundish_loader* loader, uint64_t position) {
  return loader->engine->steps_from(position);
}

const char* tundish_loader_describe(const tundish_loader* loader) { return loader->about.c_str(); }

const char* tundish_loader_state(const tundish_loader* loader, uint64_t epoch,
                                 uint64_t position) try {
  const Engine& engine = *loader->engine;
  return keep_text(state_json(engine.identity(), engine.options(), epoch, position).dump());
} catch (...) {
  return failed(nullptr);
}

int32_t tundish_loader_read_state(const tundish_loader* loader, const char* text, uint64_t* epoch,
                                  uint64_t* position) try {
  try {
    const SavedState state = read_state(text);
    check_state(state, loader->engine->identity());
    *epoch = state.epoch;
    *position = state.position;
  } catch (const Error& error) {
    throw Error(error.code(), {.file = loader->path}, error.reason());
  }
  return TUNDISH_OK;
} catch (...) {
  return failed(TUNDISH_ERROR);
}

const char* tundish_loader_stats(const tundish_loader* loader) try {
  Json out = json_of_all_fields(loader->engine->stats(), LoaderStats::kPrefix);
  out["tuning"] = tuning_json(*loader->engine);
  return keep_text(out.dump());
} catch (...) {
  return failed(nullptr);
}

uint64_t tundish_loader_bad_positions(const tundish_loader* loader) {
  return loader->engine->bad_positions();
}

void tundish_loader_new_window(tundish_loader* loader) { loader->engine->new_window(); }

const char* tundish_loader_bad_samples(tundish_loader* loader) try {
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
} catch (...) {
  return failed("[]");
}

const char* tundish_loader_hanging(tundish_loader* loader, uint32_t limit_ms) try {
  std::string all;
  for (const std::string& one : loader->engine->hanging(std::chrono::milliseconds(limit_ms))) {
    all += (all.empty() ? "" : "\n") + one;
  }
  return all.empty() ? nullptr : keep_text(std::move(all));
} catch (...) {
  return failed(nullptr);
}

int32_t tundish_loader_trace(tundish_loader* loader, const char* path) try {
  loader->engine->trace_to(path ? path : "");
  return TUNDISH_OK;
} catch (...) {
  return failed(TUNDISH_ERROR);
}

int32_t tundish_loader_write_trace(const tundish_loader* loader) try {
  loader->engine->write_trace();
  return TUNDISH_OK;
} catch (...) {
  return failed(TUNDISH_ERROR);
}
