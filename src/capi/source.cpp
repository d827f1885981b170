// Implements the source part of include/tundish.h.
#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <new>
#include <nlohmann/json.hpp>

#include "augment/image_mode.h"
#include "augment/pixels/colors/colors.h"
#include "base/machine/memory_limit.h"
#include "base/machine/usable_cpus.h"
#include "base/version.h"
#include "capi/call.h"
#include "capi/dlpack.h"
#include "capi/handles.h"
#include "cuda/runtime/pinned.h"
#include "data/pack/open.h"
#include "data/pack/reader.h"
#include "data/source/disk_cache/cached_source.h"
#include "data/source/formats/joined.h"
#include "data/source/label_vector.h"
#include "data/source/names.h"
#include "loader/sample/orientation.h"

using namespace tundish;

namespace tundish {

LastError& last_error() {
  thread_local LastError error;
  return error;
}

void keep_error(ErrorCode code, const char* text, bool of_sample) noexcept {
  LastError& error = last_error();
  error.code = static_cast<int>(code);
  error.of_sample = of_sample;
  try {
    error.text = text;
  } catch (...) {
    error.text.clear();
  }
}

namespace {

void keep_unforeseen(const char* why) noexcept {
  try {
    keep_error(ErrorCode::argument, Error(ErrorCode::argument, {}, why).what());
  } catch (...) {
    keep_error(ErrorCode::argument, why);
  }
}

}  // namespace

void keep_exception() noexcept {
  try {
    throw;
  } catch (const SampleError& error) {
    keep_error(error.code(), error.what(), true);
  } catch (const Error& error) {
    keep_error(error.code(), error.what());
  } catch (const std::bad_alloc&) {  // a literal text, since formatting could fail too
    keep_error(ErrorCode::no_memory,
               "TND-505 needs more memory than there is\n  fix: close other programs, use fewer "
               "threads or smaller batches");
  } catch (const std::exception& error) {
    keep_unforeseen(error.what());
  } catch (...) {
    keep_unforeseen("an exception of no known kind");
  }
}

const char* keep_text(std::string text) {
  thread_local std::string kept;
  kept = std::move(text);
  return kept.c_str();
}

tundish_source* new_source(std::shared_ptr<const Source> opened) {
  auto handle = std::make_unique<tundish_source>();
  handle->source = std::move(opened);
  const Source& source = *handle->source;
  nlohmann::json about = {{"count", source.count()},
                          {"fields", nlohmann::json::array()},
                          {"classes", nlohmann::json::array()},
                          {"fingerprint", source.fingerprint()},
                          {"random_access", source.random_access()},
                          {"label_vectors", label_vector_field(source.schema()) >= 0},
                          {"warnings", nlohmann::json::array()}};
  for (const Field& field : source.schema().fields) {
    nlohmann::json row = {{"name", field.name}, {"type", field_type_name(field.type)}};
    if (field.array) {
      row["dtype"] = element_name(field.array->element);
      row["shape"] = field.array->shape;
    }
    about["fields"].push_back(std::move(row));
  }
  for (const std::string& name : source.schema().classes) {
    about["classes"].push_back(is_utf8(name) ? name : printable(name));
  }
  for (const std::string& text : source.warnings()) about["warnings"].push_back(printable(text));
  handle->about = about.dump();
  return handle.release();
}

}  // namespace tundish

uint32_t tundish_abi(void) { return TUNDISH_ABI; }
const char* tundish_version(void) { return version(); }
const char* tundish_last_error(void) { return last_error().text.c_str(); }
int32_t tundish_last_error_code(void) { return last_error().code; }
int32_t tundish_last_error_of_sample(void) { return last_error().of_sample; }
uint32_t tundish_usable_cpus(void) { return usable_cpus(); }

uint64_t tundish_memory_left(void) { return memory_left(); }

int32_t tundish_can_pin(void) try {
  std::string why;
  const bool can = cuda::pinned_memory(why) != nullptr;
  if (!can) keep_error(ErrorCode::argument, why.c_str());
  return can ? 1 : 0;
} catch (...) {
  return failed(0);
}

tundish_source* tundish_source_open(const char* path) try {
  return new_source(open_source(path));
} catch (...) {
  return failed(nullptr);
}

tundish_source* tundish_source_join(tundish_source** sources, uint64_t count) try {
  std::vector<std::shared_ptr<const Source>> all;
  for (uint64_t i = 0; i < count; ++i) all.push_back(sources[i]->source);
  return new_source(join_sources(std::move(all)));
} catch (...) {
  return failed(nullptr);
}

tundish_source* tundish_source_open_copy(const char* path, int32_t descriptor) try {
  File file(::fcntl(descriptor, F_DUPFD_CLOEXEC, 0), path);
  if (!file.is_open()) throw_errno(path, "dup", false);
  return new_source(Pack::open(std::make_unique<DiskBytes>(std::move(file))));
} catch (...) {
  return failed(nullptr);
}

tundish_source* tundish_source_cache(tundish_source* source, const char* folder,
                                     uint64_t limit) try {
  return new_source(std::make_shared<const CachedSource>(source->source, folder, limit));
} catch (...) {
  return failed(nullptr);
}

void tundish_source_cache_counts(const tundish_source* source, uint64_t* out) {
  const auto* cached = dynamic_cast<const CachedSource*>(source->source.get());
  const DiskCacheCounts counts = cached ? cached->counts() : DiskCacheCounts{};
  const std::array all = {counts.hits, counts.misses, counts.damaged, counts.bytes};
  std::copy(all.begin(), all.end(), out);
}

void tundish_source_close(tundish_source* source) { delete source; }

uint64_t tundish_source_count(const tundish_source* source) { return source->source->count(); }

const char* tundish_source_describe(const tundish_source* source) { return source->about.c_str(); }

int32_t tundish_source_labels(const tundish_source* source, int64_t* out) try {
  const std::uint64_t count = source->source->count();
  for (std::uint64_t i = 0; i < count; ++i) out[i] = source->source->info(i).label;
  return TUNDISH_OK;
} catch (...) {
  return failed(TUNDISH_ERROR);
}

int32_t tundish_source_label_vector(const tundish_source* handle, uint64_t sample, float* out) try {
  const Source& source = *handle->source;
  const int field = label_vector_field(source.schema());
  if (field < 0) throw Error(ErrorCode::argument, {.file = source.path()}, "labels are no vectors");
  if (sample >= source.count()) {
    throw Error(ErrorCode::no_such_record, {.file = source.path(), .record = sample},
                "there are " + with_commas(source.count()));
  }
  Sample read;
  source.read(read, sample, FieldSet{1} << field);
  if (const auto fault = read_label_vector({out, source.schema().classes.size()},
                                           read.fields[static_cast<std::size_t>(field)])) {
    throw SampleError(*fault, source.where_in(sample, field));
  }
  return TUNDISH_OK;
} catch (...) {
  return failed(TUNDISH_ERROR);
}

namespace {

ImageMode mode_named(const char* name) {
  constexpr auto kWords = words(ImageMode{});
  for (std::size_t i = 0; i < kWords.size(); ++i) {
    if (std::strcmp(name, kWords[i]) == 0) return static_cast<ImageMode>(i);
  }
  throw Error(ErrorCode::argument, {},
              std::string("mode must be RGB, L, I;16 or RGBA, not ") + printable(name));
}

// Joins colors and the alpha behind the last color to pixels of four bytes.
std::shared_ptr<std::vector<std::uint8_t>> join_alpha(const std::vector<std::uint8_t>& pixels) {
  const std::size_t count = pixels.size() / 4;
  auto out = std::make_shared<std::vector<std::uint8_t>>(4 * count);
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(out->data() + 4 * i, pixels.data() + 3 * i, 3);
    (*out)[4 * i + 3] = pixels[3 * count + i];
  }
  return out;
}

// Exports decoded three-byte pixels as a tensor of this mode.
void* tensor_of(std::shared_ptr<std::vector<std::uint8_t>> pixels, Size size, ImageMode mode) {
  std::uint8_t* data = pixels->data();
  if (mode == ImageMode::rgb) {
    return new_tensor(std::move(pixels), data, ElementType::uint8, {size.height, size.width, 3},
                      {std::int64_t{3} * size.width, 3, 1});
  }
  if (mode == ImageMode::rgba) {
    auto joined = join_alpha(*pixels);
    data = joined->data();
    return new_tensor(std::move(joined), data, ElementType::uint8, {size.height, size.width, 4},
                      {std::int64_t{4} * size.width, 4, 1});
  }
  const std::size_t count = pixels->size() / 3;
  const std::size_t bytes = mode == ImageMode::l ? 1 : 2;
  if (mode == ImageMode::l) change_colors(data, count, {.op = PixelOp::grayscale}, cpu());
  for (std::size_t i = 0; i < count; ++i) std::memmove(data + bytes * i, data + 3 * i, bytes);
  const ElementType type = mode == ImageMode::l ? ElementType::uint8 : ElementType::uint16;
  return new_tensor(std::move(pixels), data, type, {size.height, size.width}, {size.width, 1});
}

}  // namespace

void* tundish_source_image(const tundish_source* handle, uint64_t sample, int32_t exif_orientation,
                           const char* mode_name) try {
  const Source& source = *handle->source;
  const ImageMode mode = mode_named(mode_name);
  const int field = source.schema().find(FieldType::image);
  if (field < 0)
    throw Error(ErrorCode::argument, {.file = source.path()}, "its samples have no image");
  if (sample >= source.count()) {
    throw Error(ErrorCode::no_such_record, {.file = source.path(), .record = sample},
                "there are " + with_commas(source.count()));
  }
  Sample read;
  source.read(read, sample, FieldSet{1} << field);
  const Bytes bytes = read.fields[static_cast<std::size_t>(field)];
  const auto check = [&](const std::optional<Fault>& fault) {
    if (fault) throw SampleError(*fault, source.where_in(sample, field));
  };
  ImageHeader header;
  check(source.read_header(header, sample, bytes, Limits{}));
  header.keep16 = mode == ImageMode::i16;
  header.keep_alpha = mode == ImageMode::rgba;
  const std::uint8_t orientation = exif_orientation ? header.orientation : 1;
  auto pixels = std::make_shared<std::vector<std::uint8_t>>();  // shared with the tensor
  DecodeScratch scratch;
  check(decode_upright(*pixels, bytes, header, orientation, scratch, Limits{}));
  const Size size =
      upright_size({static_cast<int>(header.width), static_cast<int>(header.height)}, orientation);
  return tensor_of(std::move(pixels), size, mode);
} catch (...) {
  return failed(nullptr);
}
