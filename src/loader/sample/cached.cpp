#include "loader/sample/cached.h"

#include <algorithm>

#include "loader/sample/orientation.h"

namespace tundish {
namespace {

// Returns the bytes of an image, including its alpha if that is kept.
std::uint64_t pixel_bytes(Size size, bool keep_alpha) {
  return std::uint64_t{keep_alpha ? 4u : 3u} * static_cast<std::uint64_t>(size.width) *
         static_cast<std::uint64_t>(size.height);
}

class ToCache : public StripSink {
 public:
  ToCache(const SampleCache::Room& room, Size size, bool keep_alpha)
      : room_(room), size_(size), keep_alpha_(keep_alpha) {}
  void push(const Strip& strip) override {
    const int width = std::min(strip.width, size_.width - strip.x);
    for (int y = 0; y < std::min(strip.rows, size_.height - strip.y); ++y) {
      const auto row = static_cast<std::uint64_t>(strip.y + y);
      const std::uint64_t at =
          row * static_cast<std::uint64_t>(size_.width) + static_cast<std::uint64_t>(strip.x);
      room_->write(room_->pixels_at + 3 * at, strip.pixels + y * strip.stride,
                   3 * static_cast<std::uint64_t>(width));
      if (keep_alpha_) write_alpha(strip, y, width, at);
    }
  }

 private:
  // `at`: index of the row's first pixel.
  void write_alpha(const Strip& strip, int row, int width, std::uint64_t at) {
    alpha_.resize(static_cast<std::size_t>(width));
    for (int x = 0; x < width; ++x) {
      alpha_[static_cast<std::size_t>(x)] = alpha_of(strip, row, x);
    }
    room_->write(room_->pixels_at + pixel_bytes(size_, false) + at, alpha_.data(), alpha_.size());
  }

  const SampleCache::Room& room_;
  Size size_;
  const bool keep_alpha_;
  std::vector<std::uint8_t> alpha_;  // one row
};

// Returns the bytes before the pixels: the fields, without the coded bytes of decoded images.
std::uint64_t bytes_in_front(const Recipe& recipe, const Scratch& scratch, bool with_image) {
  std::uint64_t sum = 0;
  for (std::size_t f = 0; f < scratch.sample.fields.size(); ++f) {
    const bool image = static_cast<int>(f) == recipe.image_field;
    if (!image || with_image) sum += scratch.sample.fields[f].size();
  }
  return sum;
}

void write_fields(const SampleCache::Room& room, const Recipe& recipe, const Scratch& scratch,
                  bool with_image) {
  std::uint64_t at = 0;
  for (std::size_t f = 0; f < scratch.sample.fields.size(); ++f) {
    const auto& field = scratch.sample.fields[f];
    const bool image = static_cast<int>(f) == recipe.image_field;
    room->fields.push_back(image && !with_image ? 0 : field.size());
    room->write(at, field.data(), room->fields.back());
    at += room->fields.back();
  }
  room->pixels_at = at;
}

}  // namespace

bool take_cached(const Recipe& recipe, const Draw& draw, Scratch& scratch) {
  scratch.cached.reset();
  scratch.hit = false;
  if (!recipe.cache) return false;
  auto found = recipe.cache->find(draw.sample, scratch.next_use);
  if (!found) return false;
  scratch.hit = true;
  scratch.sample.fields.resize(found->fields.size());
  std::uint64_t at = 0;
  for (std::size_t f = 0; f < found->fields.size(); ++f) {
    auto& field = scratch.sample.fields[f];
    field.resize(found->fields[f]);
    found->read(field.data(), at, field.size());
    at += field.size();
  }
  if (recipe.cache->kind() == CacheKind::decoded) scratch.cached = std::move(found);
  return true;
}

void keep_encoded(const Recipe& recipe, const Draw& draw, const Scratch& scratch) {
  if (!recipe.cache || recipe.cache->kind() != CacheKind::encoded || scratch.hit) return;
  auto room =
      recipe.cache->make_room(draw.sample, bytes_in_front(recipe, scratch, true), scratch.next_use);
  if (!room) return;
  write_fields(room, recipe, scratch, true);
  room.keep();
}

void decode_to_cache(const Recipe& recipe, const Draw& draw, std::span<const View> views,
                     Bytes bytes, const ImageHeader& header, std::uint8_t orientation,
                     Scratch& scratch) {
  if (!recipe.cache || recipe.cache->kind() != CacheKind::decoded) return;
  const std::uint64_t coded = bytes_in_front(recipe, scratch, true);
  const SampleBytes takes = sample_bytes(views, header, orientation, coded, true);
  if (takes.total() > std::max(scratch.charge.bytes(), recipe.memory.uncharged_limit)) return;
  const Size size = views.front().image();
  const auto width = static_cast<std::uint32_t>(size.width);
  const auto height = static_cast<std::uint32_t>(size.height);
  auto room = recipe.cache->make_room(
      draw.sample, bytes_in_front(recipe, scratch, false) + pixel_bytes(size, header.keep_alpha),
      scratch.next_use);
  if (!room) return;
  scratch.kept.grow_to(takes);
  write_fields(room, recipe, scratch, false);
  room->header = {.codec = header.codec, .width = width, .height = height};
  if (orientation == 1) {
    ToCache sink(room, size, header.keep_alpha);
    if (decode(sink, bytes, header, {0, 0, size.width, size.height}, scratch.decode,
               recipe.limits)) {
      return;
    }
  } else {
    if (decode_upright(scratch.upright, bytes, header, orientation, scratch.decode,
                       recipe.limits)) {
      return;
    }
    room->write(room->pixels_at, scratch.upright.data(), scratch.upright.size());
  }
  scratch.cached = room.keep();
}

void push_cached(StripSink& sink, const CachedSample& cached, const Window& window, bool has_alpha,
                 DecodeScratch& scratch) {
  const auto width = static_cast<std::size_t>(window.width);
  const std::size_t row_bytes = 3 * width;
  const std::size_t bytes = (row_bytes + (has_alpha ? width : 0)) * kRowsPerStrip;
  if (scratch.rows.size() < bytes) scratch.rows.resize(bytes);
  std::uint8_t* const alpha = has_alpha ? scratch.rows.data() + row_bytes * kRowsPerStrip : nullptr;
  const std::uint64_t alpha_at =
      cached.pixels_at + std::uint64_t{3} * cached.header.width * cached.header.height;
  for (int done = 0; done < window.height;) {
    const int count = std::min(kRowsPerStrip, window.height - done);
    for (int y = 0; y < count; ++y) {
      const auto row = static_cast<std::uint64_t>(window.y + done + y);
      const std::uint64_t at = row * cached.header.width + static_cast<std::uint64_t>(window.x);
      cached.read(scratch.rows.data() + static_cast<std::size_t>(y) * row_bytes,
                  cached.pixels_at + 3 * at, row_bytes);
      if (has_alpha) {
        cached.read(alpha + static_cast<std::size_t>(y) * width, alpha_at + at, width);
      }
    }
    sink.push({.pixels = scratch.rows.data(),
               .stride = static_cast<std::ptrdiff_t>(row_bytes),
               .x = window.x,
               .y = window.y + done,
               .width = window.width,
               .rows = count,
               .alpha = alpha,
               .alpha_stride = window.width});
    done += count;
  }
}

}  // namespace tundish
