#include "data/source/chunks/chunked_array.h"

#include <algorithm>

namespace tundish {

namespace {

std::size_t chunks_in(std::uint64_t bytes, const ChunkGrid& grid) {
  std::uint64_t all = 1;
  for (const std::uint64_t count : chunk_counts(grid)) all *= count;
  const std::uint64_t most = std::clamp<std::uint64_t>(all, 1, 1 << 16);
  return static_cast<std::size_t>(std::clamp<std::uint64_t>(bytes / chunk_bytes(grid), 1, most));
}

// Returns the distance of neighbors along this axis in a chunk, in elements.
std::uint64_t step_in_chunk(const ChunkGrid& grid, const Chunk& chunk, std::size_t axis) {
  if (chunk.bytes.empty()) return 0;
  std::uint64_t step = 1;
  for (std::size_t place = chunk.shape.size(); place-- > 0;) {
    const std::size_t stored = grid.stored_axes.empty() ? place : grid.stored_axes[place];
    if (stored == axis) break;
    step *= chunk.shape[stored];
  }
  return step;
}

}  // namespace

ChunkedArray::ChunkedArray(ChunkGrid grid, std::unique_ptr<const ChunkLoader> loader, Keep keep,
                           ChunkMemory& memory)
    : grid_(std::move(grid)),
      loader_(std::move(loader)),
      chunk_memory_(memory),
      counts_(chunk_counts(grid_)),
      kept_chunks_(chunks_in(keep.bytes, grid_)),
      kept_with_read_(chunks_in(std::min(keep.bytes, keep.bytes_with_read), grid_)) {
  chunk_memory_.add(*this);
}

ChunkedArray::~ChunkedArray() { chunk_memory_.remove(*this); }

std::uint64_t ChunkedArray::memory() const {
  return kept_chunks_ * (chunk_bytes(grid_) + sizeof(Entry) + 128);
}

// Counts the chunk, its stored bytes, and two buffers of its steps (chunk_steps.h).
std::uint64_t ChunkedArray::memory_while_reading() const { return 4 * chunk_bytes(grid_); }

bool ChunkedArray::drop_one() const {
  const std::lock_guard lock(mutex_);
  const auto idle = std::find_if(recent_.rbegin(), recent_.rend(), [](const auto& kept) {
    return kept.second.use_count() == 1;  // readers get entries under the lock
  });
  if (idle == recent_.rend()) return false;
  places_.erase(idle->first);
  recent_.erase(std::next(idle).base());
  return true;
}

void ChunkedArray::keep_at_most(std::uint64_t bytes) const {
  const std::size_t chunks = chunks_in(bytes, grid_);
  kept_chunks_ = std::min<std::size_t>(kept_chunks_, chunks);
  kept_with_read_ = std::min<std::size_t>(kept_with_read_, chunks);
}

std::shared_ptr<ChunkedArray::Entry> ChunkedArray::entry_of(std::uint64_t number,
                                                            std::uint64_t samples) const {
  const std::lock_guard lock(mutex_);
  auto found = places_.find(number);
  if (found == places_.end()) {
    recent_.emplace_front(number, std::make_shared<Entry>());
    found = places_.emplace(number, recent_.begin()).first;
  }
  const std::shared_ptr<Entry> entry = found->second->second;
  if (entry->is_read) entry->reads = 0;
  entry->is_read = ++entry->reads >= samples;
  recent_.splice(entry->is_read ? recent_.end() : recent_.begin(), recent_, found->second);
  while (recent_.size() > kept_chunks_ ||
         (recent_.size() > kept_with_read_ && recent_.back().second->is_read)) {
    places_.erase(recent_.back().first);
    recent_.pop_back();  // readers still hold it
  }
  return entry;
}

std::shared_ptr<const ChunkedArray::Entry> ChunkedArray::chunk_at(std::span<const std::uint64_t> at,
                                                                  std::size_t axis) const {
  std::uint64_t number = 0;
  for (std::size_t a = 0; a < at.size(); ++a) number = number * counts_[a] + at[a];
  const std::uint64_t first = at[axis] * grid_.chunk[axis];
  const std::uint64_t samples = std::min(grid_.chunk[axis], grid_.shape[axis] - first);
  const std::shared_ptr<Entry> entry = entry_of(number, samples);
  const std::lock_guard lock(entry->mutex);
  if (!entry->loaded) {
    ChunkMemory::Charge charge = chunk_memory_.take(memory_while_reading());
    loader_->load(entry->chunk, at);
    charge.loaded(entry->chunk.bytes.capacity());
    entry->charge = std::move(charge);
    entry->loaded = true;
  }
  return entry;
}

bool ChunkedArray::visit_elements(std::size_t axis, std::uint64_t i,
                                  const std::function<void(Bytes element)>& use) const {
  std::vector<std::uint64_t> at(counts_.size(), 0);
  at[axis] = i / grid_.chunk[axis];
  const std::shared_ptr<const Entry> entry = chunk_at(at, axis);
  const Chunk& chunk = entry->chunk;
  const std::uint64_t first = at[axis] * grid_.chunk[axis];
  const std::uint64_t end = std::min(first + grid_.chunk[axis], grid_.shape[axis]);
  // A truncated chunk (N5) ends early; a missing one has no element.
  const std::uint64_t stored =
      chunk.bytes.empty() ? first : std::min(end, first + chunk.shape[axis]);
  const std::size_t width = element_bytes(grid_.element);
  const std::size_t step = width * step_in_chunk(grid_, chunk, axis);
  for (; i < stored; ++i) use(Bytes(chunk.bytes).subspan((i - first) * step, width));
  for (; i < end; ++i) use(grid_.fill);
  return !chunk.bytes.empty();
}

void ChunkedArray::read_sample(std::vector<std::byte>& out, std::size_t axis,
                               std::uint64_t i) const {
  ArrayType type;
  if (const auto fault = sample_type(type, grid_, axis)) throw Error(*fault, {});
  out.resize(static_cast<std::size_t>(*array_bytes(type)));
  for_each_chunk(grid_, axis, i, [&](std::span<const std::uint64_t> at) {
    copy_part(out, grid_, axis, i, at, chunk_at(at, axis)->chunk);
  });
}

}  // namespace tundish
