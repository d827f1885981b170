#include <algorithm>
#include <functional>

#include "codec/lanes/jpeg_file.h"
#include "codec/lanes/jpeg_marker_state.h"
#include "codec/lanes/jpeg_runs.h"

namespace tundish::lanes {
namespace {

// Sets the padding bits of one interval's last byte.
void set_padding(Padding& padding, std::uint64_t interval, std::uint8_t bits) {
  const auto at =
      std::ranges::lower_bound(padding.odd, interval, std::less{}, &OddPadding::interval);
  if (at != padding.odd.end() && at->interval == interval) {
    at->bits = bits;
  } else {
    padding.odd.insert(at, {interval, bits});
  }
}

// Writes the scan into `out`. Returns how many leading bytes equal `data`; empty on failure.
std::optional<std::size_t> try_scan(std::vector<std::byte>& out, const ScanSource& source,
                                    Bytes data) {
  Output output(out, data.size());
  if (write_scan(output, source) != nullptr || !output.finish()) return std::nullopt;
  return std::ranges::mismatch(out, data).in1 - out.begin();
}

// Adds the restore data that this scan needs to reproduce `data`.
bool settle_scan(Restore& restore, ScanSource source, std::uint32_t scan, Bytes data,
                 std::vector<std::byte>& scratch) {
  OddRuns runs{.scan = scan, .ends = {}};
  if (source.frame.marker == kSof2 && source.header.first > 0) {
    auto found = find_runs(source, data);
    if (!found) return false;
    runs.ends = std::move(found->ends);
    source.odd_runs = &runs;
  }
  const PaddingReader before = source.padding;
  auto equal = try_scan(scratch, source, data);
  if (equal && *equal + 1 == scratch.size() && scratch.size() < data.size()) {
    // The byte that was taken for the last data byte belongs to the tail.
    set_padding(restore.padding, source.padding.interval() - 1,
                std::to_integer<std::uint8_t>(data[*equal]));
    source.padding = before;
    equal = try_scan(scratch, source, data);
  }
  if (!equal || *equal != scratch.size()) return false;
  if (*equal < data.size()) restore.tails.push_back({scan, data.subspan(*equal)});
  if (source.odd_runs != nullptr) restore.odd_runs.push_back(std::move(runs));
  return true;
}

// Finds the scans of the file: the parts between the literal bytes.
bool settle_scans(Restore& restore, const Coefficients& coefficients, Bytes file,
                  std::vector<std::byte>& scratch) {
  std::vector<Bytes> scans;
  std::vector<std::uint8_t> last_bytes;
  MarkerState state;
  std::size_t coded = 0;  // bytes of the file before here that are not literal
  while (next_scan(state, restore.literal, coefficients)) {
    const std::size_t begin = state.at + coded;
    if (begin > file.size()) return false;
    const std::size_t end = find_scan_end(file, begin, last_bytes);
    scans.push_back(file.subspan(begin, end - begin));
    coded += end - begin;
  }
  restore.padding = make_full_padding(last_bytes);

  PaddingReader padding(restore.padding);
  state = {};
  while (next_scan(state, restore.literal, coefficients)) {
    const ScanSource source{.coefficients = coefficients,
                            .frame = *state.frame,
                            .header = state.scan,
                            .tables = state.tables,
                            .restart_interval = state.restart_interval,
                            .edges = restore.edges,
                            .odd_runs = nullptr,
                            .padding = padding};
    const std::uint32_t scan = state.scans - 1;
    if (!settle_scan(restore, source, scan, scans[scan], scratch)) return false;
  }
  return true;
}

}  // namespace

bool settle(std::vector<std::byte>& restore_bytes, const Coefficients& coefficients, Bytes file,
            std::vector<std::byte>& scratch) {
  if (restores(coefficients, restore_bytes, file, scratch)) return true;
  Restore restore;
  if (read_restore(restore, restore_bytes, coefficients.geometry, JpegLimits{}.max_scans)) {
    return false;
  }
  restore.odd_runs.clear();
  restore.tails.clear();
  if (!settle_scans(restore, coefficients, file, scratch)) return false;
  std::vector<std::byte> settled;
  write_restore(settled, restore);
  settled.insert(settled.end(), restore.literal.begin(), restore.literal.end());
  restore_bytes = std::move(settled);
  return restores(coefficients, restore_bytes, file, scratch);
}

}  // namespace tundish::lanes
