#include <cstring>

#include "codec/lanes/jpeg_file.h"
#include "codec/lanes/jpeg_marker_state.h"
#include "codec/lanes/jpeg_scan.h"

namespace tundish::lanes {
namespace {

constexpr char kTooLong[] = "the file is longer than it may be";

Fault damaged(const char* reason, std::size_t offset = 0) {
  return {ErrorCode::image_damaged, reason, offset};
}

bool is_whole(const Coefficients& coefficients) {
  const Geometry& geometry = coefficients.geometry;
  if (geometry.components < 1 || geometry.components > kMaxComponents) return false;
  for (int c = 0; c < geometry.components; ++c) {
    const Component& component = geometry.component[c];
    if (std::ssize(coefficients.blocks[c]) !=
        std::int64_t{component.blocks_x} * component.blocks_y) {
      return false;
    }
  }
  return true;
}

// Returns the entry of this scan in a list sorted by scans.
template <class Entry>
const Entry* entry_of(const std::vector<Entry>& entries, std::uint32_t scan) {
  for (const Entry& entry : entries) {
    if (entry.scan == scan) return &entry;
  }
  return nullptr;
}

}  // namespace

std::optional<Fault> put_together(std::vector<std::byte>& file, const Coefficients& coefficients,
                                  Bytes restore_bytes, const JpegLimits& limits) {
  if (!is_whole(coefficients)) return damaged("blocks of coefficients are missing");
  Restore restore;
  if (auto fault = read_restore(restore, restore_bytes, coefficients.geometry, limits.max_scans)) {
    return fault;
  }
  const Bytes literal = restore.literal;
  const std::size_t before = restore_bytes.size() - literal.size();

  MarkerState state;
  PaddingReader padding(restore.padding);
  Output out(file, limits.max_bytes);
  std::size_t copied = 0;
  while (next_scan(state, literal, coefficients)) {
    if (state.scans > limits.max_scans) return damaged("there are too many scans");
    if (!out.append(literal.subspan(copied, state.at - copied))) return damaged(kTooLong);
    copied = state.at;
    const std::uint32_t scan = state.scans - 1;
    const char* wrong = write_scan(out, {.coefficients = coefficients,
                                         .frame = *state.frame,
                                         .header = state.scan,
                                         .tables = state.tables,
                                         .restart_interval = state.restart_interval,
                                         .edges = restore.edges,
                                         .odd_runs = entry_of(restore.odd_runs, scan),
                                         .padding = padding});
    if (wrong != nullptr) return damaged(wrong, before + state.at);
    const Tail* tail = entry_of(restore.tails, scan);
    if (tail != nullptr && !out.append(tail->bytes)) return damaged(kTooLong);
  }
  if (state.wrong != nullptr) return damaged(state.wrong, before + state.at);
  if (!out.append(literal.subspan(copied)) || !out.finish()) return damaged(kTooLong);
  return std::nullopt;
}

bool restores(const Coefficients& coefficients, Bytes restore, Bytes file,
              std::vector<std::byte>& scratch) {
  const JpegLimits limits{.max_bytes = file.size()};
  if (put_together(scratch, coefficients, restore, limits)) return false;
  return scratch.size() == file.size() &&
         std::memcmp(scratch.data(), file.data(), file.size()) == 0;
}

}  // namespace tundish::lanes
