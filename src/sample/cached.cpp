#include "sample/cached.h"

#include <algorithm>

#include "sample/orientation.h"

namespace tundish {
namespace {

std::uint64_t pixel_bytes(std::uint64_t width, std::uint64_t height) { return 3 * width * height; }

class ToCache : public StripSink {
 public:
  ToCache(const SampleCache::Room& room, Size size) : room_(room), size_(size) {}
  void push(const Strip& strip) override {
    const int width = std::min(strip.width, size_.width - strip.x);
    for (int y = 0; y < std::min(strip.rows, size_.height - strip.y); ++y) {
      const auto row = static_cast<std::uint64_t>(strip.y + y);
      const std::uint64_t at =
          row * static_cast<std::uint64_t>(size_.width) + static_cast<std::uint64_t>(strip.x);
      room_->write(room_->pixels_at + 3 * at, strip.pixels + y * strip.stride,
                   3 * static_cast<std::uint64_t>(width));
    }
  }

 private:
  const SampleCache::Room& room_;
  Size size_;
};

// Fields go in front. Of decoded images the coded bytes are left out.
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
      draw.sample, bytes_in_front(recipe, scratch, false) + pixel_bytes(width, height),
      scratch.next_use);
  if (!room) return;
  scratch.kept.grow_to(takes);
  write_fields(room, recipe, scratch, false);
  room->header = {.codec = header.codec, .width = width, .height = height};
  if (orientation == 1) {
    ToCache sink(room, size);
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

void push_cached(StripSink& sink, const CachedSample& cached, const Window& window,
                 DecodeScratch& scratch) {
  const auto row_bytes = 3 * static_cast<std::size_t>(window.width);
  if (scratch.rows.size() < row_bytes * kRowsPerStrip) {
    scratch.rows.resize(row_bytes * kRowsPerStrip);
  }
  for (int done = 0; done < window.height;) {
    const int count = std::min(kRowsPerStrip, window.height - done);
    for (int y = 0; y < count; ++y) {
      const auto row = static_cast<std::uint64_t>(window.y + done + y);
      const std::uint64_t at = row * cached.header.width + static_cast<std::uint64_t>(window.x);
      cached.read(scratch.rows.data() + static_cast<std::size_t>(y) * row_bytes,
                  cached.pixels_at + 3 * at, row_bytes);
    }
    sink.push({.pixels = scratch.rows.data(),
               .stride = static_cast<std::ptrdiff_t>(row_bytes),
               .x = window.x,
               .y = window.y + done,
               .width = window.width,
               .rows = count});
    done += count;
  }
}

}  // namespace tundish
