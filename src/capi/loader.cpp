// include/tundish.h, the part on loaders and batches.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "batch/replay.h"
#include "capi/call.h"
#include "capi/dlpack.h"
#include "capi/handles.h"
#include "cuda/pinned.h"

using namespace tundish;

namespace {

template <class T>
T checked_enum(int32_t value, int32_t last, const char* name) {
  if (value < 0 || value > last) {
    throw Error(ErrorCode::argument, {},
                std::string(name) + " has no value " + std::to_string(value));
  }
  return static_cast<T>(value);
}

Filter filter_of(const tundish_transform& from) {
  return checked_enum<Filter>(from.filter, 2, "filter");
}

Transform transform_of(const tundish_transform& from) {
  const Size size{from.width, from.height};
  switch (from.kind) {
    case TUNDISH_RANDOM_RESIZED_CROP:
      return RandomResizedCrop{.size = size,
                               .scale = {from.scale[0], from.scale[1]},
                               .ratio = {from.ratio[0], from.ratio[1]},
                               .filter = filter_of(from)};
    case TUNDISH_RESIZE:
      return Resize{.size = size, .max_size = from.max_size, .filter = filter_of(from)};
    case TUNDISH_CENTER_CROP:
      return CenterCrop{size};
    case TUNDISH_RANDOM_CROP: {
      RandomCrop op{.size = size,
                    .padding = {from.padding[0], from.padding[1], from.padding[2], from.padding[3]},
                    .pad_if_needed = from.pad_if_needed != 0,
                    .pad_mode = checked_enum<PadMode>(from.pad_mode, 3, "pad_mode")};
      for (std::size_t c = 0; c < 3; ++c) {
        op.fill[c] = static_cast<std::uint8_t>(std::clamp(from.fill[c], 0, 255));
      }
      return op;
    }
    case TUNDISH_RANDOM_HORIZONTAL_FLIP:
      return RandomHorizontalFlip{from.probability};
    case TUNDISH_RANDOM_VERTICAL_FLIP:
      return RandomVerticalFlip{from.probability};
    case TUNDISH_NORMALIZE: {
      Normalize op;
      for (std::size_t c = 0; c < 3; ++c) {
        op.mean[c] = static_cast<float>(from.mean[c]);
        op.std[c] = static_cast<float>(from.std[c]);
      }
      return op;
    }
    case TUNDISH_TO_DTYPE:
      return ToDtype{checked_enum<Dtype>(from.dtype, 3, "dtype"), from.scale_values != 0};
    default:
      throw Error(ErrorCode::argument, {},
                  "no transform has the number " + std::to_string(from.kind));
  }
}

SamplingOptions sampling_of(const tundish_order& from) {
  SamplingOptions to{.sampling = checked_enum<Sampling>(from.sampling, 2, "sampling"),
                     .draws = from.draws,
                     .repeats = from.repeats};
  if (from.samples) to.samples.assign(from.samples, from.samples + from.sample_count);
  if (from.weights) to.weights.assign(from.weights, from.weights + from.weight_count);
  if (from.group_sizes) {
    to.group_sizes.assign(from.group_sizes, from.group_sizes + from.group_count);
  }
  return to;
}

EngineOptions options_of(const tundish_loader_options& from) {
  if (from.struct_bytes != sizeof(tundish_loader_options)) {
    throw Error(ErrorCode::argument, {}, "the library and its caller are of different versions");
  }
  EngineOptions to{.batch_size = from.batch_size,
                   .shuffle = from.shuffle != 0,
                   .seed = from.seed,
                   .uneven = checked_enum<Uneven>(from.uneven, 2, "uneven"),
                   .on_error = checked_enum<OnError>(from.on_error, 2, "on_error"),
                   .rank = from.rank,
                   .world_size = from.world_size,
                   .transforms = {},
                   .channels_first = from.channels_first != 0,
                   .for_gpu = from.for_gpu != 0,
                   .gpu_decodes = from.for_gpu >= 2,
                   .resident = from.for_gpu == 3,
                   .exif_orientation = from.exif_orientation != 0,
                   .all_fields = from.all_fields != 0,
                   .labels = {},
                   .sampling = {},
                   .threads = from.threads,
                   .prefetch = from.prefetch,
                   .memory = kPlainMemory,
                   .limits = {},
                   .max_bad = from.max_bad ? *from.max_bad : -1,
                   .replay = from.replay != 0,
                   .trace = from.trace ? from.trace : "",
                   .trace_bytes = EngineOptions{}.trace_bytes,
                   .budget = from.memory,
                   .lent_batches = static_cast<std::uint32_t>(from.lent_batches),
                   .cache = checked_enum<CacheKind>(from.cache, 3, "cache")};
  for (uint64_t i = 0; i < from.transform_count; ++i) {
    to.transforms.push_back(transform_of(from.transforms[i]));
  }
  std::string why;
  if (from.pinned) {
    const HostAllocator* pinned = cuda::pinned_memory(why);
    if (!pinned) throw Error(ErrorCode::argument, {}, "pin_memory: " + why);
    to.memory = *pinned;
  }
  if (from.order) to.sampling = sampling_of(*from.order);
  if (from.labels) to.labels.assign(from.labels, from.labels + from.label_count);
  return to;
}

const char* delivered_name(Delivered delivered) {
  switch (delivered) {
    case Delivered::substitute:
      return "substitute";
    case Delivered::zeros:
      return "zeros";
    default:
      return "nothing";
  }
}

}  // namespace

tundish_loader* tundish_loader_new(const tundish_source* source,
                                   const tundish_loader_options* options) {
  return guarded<tundish_loader*>(nullptr, [&] {
    auto handle = std::make_unique<tundish_loader>();
    handle->engine = std::make_unique<Engine>(source->source, options_of(*options));
    handle->fingerprint = handle->engine->fingerprint();
    handle->order = handle->engine->order();
    handle->recipe = recipe_json(handle->engine->options()).dump();
    handle->path = source->source->path();
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
    *out = handle.release();
    return TUNDISH_OK;
  });
}

uint64_t tundish_loader_steps(const tundish_loader* loader, uint64_t position) {
  return loader->engine->steps_from(position);
}

uint64_t tundish_loader_positions(const tundish_loader* loader) {
  return loader->engine->positions();
}

const char* tundish_loader_order(const tundish_loader* loader) { return loader->order.c_str(); }

const char* tundish_loader_recipe(const tundish_loader* loader) { return loader->recipe.c_str(); }

const char* tundish_loader_fingerprint(const tundish_loader* loader) {
  return loader->fingerprint.c_str();
}

void tundish_loader_get_stats(const tundish_loader* loader, tundish_loader_stats* out) {
  EngineStats window;
  const EngineStats from = loader->engine->stats(window);
  *out = {.batches = from.batches,
          .samples = from.samples,
          .replaced = from.replaced,
          .skipped = from.skipped,
          .bytes = from.bytes,
          .read_ns = from.read_ns,
          .decode_ns = from.decode_ns,
          .wait_ns = from.wait_ns,
          .slots = from.slots,
          .ready = from.ready,
          .threads = from.threads,
          .augment_ns = from.augment_ns,
          .elapsed_ns = from.elapsed_ns,
          .bad = from.bad,
          .wait_p50_ns = from.wait_p50_ns,
          .wait_p99_ns = from.wait_p99_ns,
          .window_read_ns = window.read_ns,
          .window_decode_ns = window.decode_ns,
          .window_augment_ns = window.augment_ns,
          .window_wait_ns = window.wait_ns,
          .window_elapsed_ns = window.elapsed_ns,
          .memory = from.budget,
          .memory_used = from.budget_used,
          .cache = static_cast<std::uint64_t>(from.cache),
          .cache_hits = from.cache_hits,
          .cache_misses = from.cache_misses,
          .cache_bytes = from.cache_bytes,
          .cache_needed = from.cache_needed,
          .cache_room = from.cache_room,
          .zeros = from.zeros};
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
                      {"delivered", delivered_name(bad.delivered)},
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

int32_t tundish_loader_write_trace(const tundish_loader* loader) {
  return guarded<int32_t>(TUNDISH_ERROR, [&] {
    loader->engine->write_trace();
    return TUNDISH_OK;
  });
}

void tundish_batch_get_info(const tundish_batch* batch, tundish_batch_info* out) {
  const Batch& from = *batch->batch;
  const auto decoded_there = static_cast<uint64_t>(
      std::count_if(from.places.begin(), from.places.end(),
                    [&](std::size_t place) { return from.slot->places[place].coded; }));
  *out = {.epoch = from.epoch,
          .next_position = from.next,
          .count = from.count,
          .decoded_there = decoded_there,
          .width = static_cast<uint64_t>(from.size.width),
          .height = static_cast<uint64_t>(from.size.height),
          .pixels = from.pixels,
          .dtype = static_cast<int32_t>(from.dtype),
          .channels_first = from.channels_first,
          .lent = from.lent,
          .coded = from.slot->whole};
}

void* tundish_batch_tensor(tundish_batch* handle, int32_t which) {
  return guarded<void*>(nullptr, [&]() -> void* {
    const std::shared_ptr<Batch>& batch = handle->batch;
    const std::int64_t count = batch->count, width = batch->size.width, height = batch->size.height;
    if (which == 1 || which == 2) {
      // A copy of its own: whoever keeps the labels of an epoch must not keep its pixels.
      auto numbers =
          std::make_shared<std::vector<std::int64_t>>(which == 1 ? batch->labels : batch->samples);
      std::int64_t* data = numbers->data();
      return new_int64_tensor(std::move(numbers), data, count);
    }
    std::vector<std::int64_t> strides = {3 * height * width, 1, 3 * width, 3};
    if (batch->channels_first) strides = {3 * height * width, height * width, width, 1};
    return new_tensor(batch, batch->pixels, batch->dtype, {count, 3, height, width},
                      std::move(strides));
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
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const ReplayedSample& one : replayed(*batch->batch, loader->engine->recipe())) {
      list.push_back(replay_json(one));
    }
    return keep_text(list.dump());
  });
}

void tundish_batch_free(tundish_batch* batch) { delete batch; }
