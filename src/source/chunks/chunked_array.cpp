#include "source/chunks/chunked_array.h"

#include <algorithm>

namespace tundish {

ChunkedArray::ChunkedArray(ChunkGrid grid, std::unique_ptr<const ChunkLoader> loader,
                           std::uint64_t cache_bytes)
    : grid_(std::move(grid)),
      loader_(std::move(loader)),
      counts_(chunk_counts(grid_)),
      kept_chunks_(static_cast<std::size_t>(
          std::clamp<std::uint64_t>(cache_bytes / chunk_bytes(grid_), 1, 1 << 16))) {}

std::uint64_t ChunkedArray::memory() const {
  return kept_chunks_ * (chunk_bytes(grid_) + sizeof(Entry) + 128);
}

std::shared_ptr<ChunkedArray::Entry> ChunkedArray::entry_of(std::uint64_t number) const {
  const std::lock_guard lock(mutex_);
  if (const auto found = places_.find(number); found != places_.end()) {
    recent_.splice(recent_.begin(), recent_, found->second);
    return found->second->second;
  }
  recent_.emplace_front(number, std::make_shared<Entry>());
  places_[number] = recent_.begin();
  if (recent_.size() > kept_chunks_) {
    places_.erase(recent_.back().first);
    recent_.pop_back();  // whoever reads it still holds it
  }
  return recent_.front().second;
}

std::shared_ptr<const ChunkedArray::Entry> ChunkedArray::chunk_at(
    std::span<const std::uint64_t> at) const {
  std::uint64_t number = 0;
  for (std::size_t a = 0; a < at.size(); ++a) number = number * counts_[a] + at[a];
  const std::shared_ptr<Entry> entry = entry_of(number);
  const std::lock_guard lock(entry->mutex);
  if (!entry->loaded) {
    loader_->load(entry->chunk, at);
    entry->loaded = true;
  }
  return entry;
}

void ChunkedArray::read_sample(std::vector<std::byte>& out, std::size_t axis,
                               std::uint64_t i) const {
  ArrayType type;
  if (const auto fault = sample_type(type, grid_, axis)) throw Error(*fault, {});
  out.resize(static_cast<std::size_t>(*array_bytes(type)));
  for_each_chunk(grid_, axis, i, [&](std::span<const std::uint64_t> at) {
    copy_part(out, grid_, axis, i, at, chunk_at(at)->chunk);
  });
}

}  // namespace tundish
