// One page of memory in which a loader publishes its statistics for `tundish top`, and the parser
// of such a page. The layout is self-describing: readers find each figure by its name, so loader
// and reader may have different versions. Little-endian:
//
//     0  magic "TNDLOADR"
//     8  u32 version (1), u32 number of figures
//    16  u64 ID of the publishing process, in that process's PID namespace
//    24  u64 sequence: odd while figures are written
//    32  u32 bytes of the source's name, u32 zero
//    64  the source's name, up to 512 bytes
//   576  the figures, 40 bytes each: name (up to 31 bytes, zero-padded), u8 kind, u64 value;
//        kind 'u' is an integer, 'd' a double
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "loader/monitor/statistics.h"

namespace tundish {

inline constexpr std::size_t kLoaderPageBytes = 4096;
inline constexpr std::string_view kLoaderPageMagic = "TNDLOADR";
inline constexpr const char* kLoaderPageName = "tundish-loader";  // name of the memfd

namespace loader_page {
inline constexpr std::size_t kVersion = 8, kCount = 12, kProcess = 16, kSequence = 24;
inline constexpr std::size_t kSourceBytes = 32, kSource = 64, kMaxSource = 512, kFigures = 576;
inline constexpr std::size_t kNameBytes = 31, kFigureBytes = 40, kMaxFigures = 88;
static_assert(kFigures + kFigureBytes * kMaxFigures <= kLoaderPageBytes);
}  // namespace loader_page

// Progress of a loader; published beside its statistics.
struct LoaderProgress {
  std::uint64_t epoch = 0, position = 0;  // position of the next batch
  std::uint64_t epoch_samples = 0;        // samples of all ranks; 0: unknown
  std::uint64_t batch_size = 0, rank = 0, world_size = 1;
  std::uint64_t updated_ns = 0;  // base/clock.h, shared by all processes of a machine
  std::uint64_t gpu_decodes = 0;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(FieldInfo{"epoch"}, self.epoch);
    visit(FieldInfo{"position"}, self.position);
    visit(FieldInfo{"epoch_samples"}, self.epoch_samples);
    visit(FieldInfo{"batch_size"}, self.batch_size);
    visit(FieldInfo{"rank"}, self.rank);
    visit(FieldInfo{"world_size"}, self.world_size);
    visit(FieldInfo{"updated_ns"}, self.updated_ns);
    visit(FieldInfo{"gpu_decodes"}, self.gpu_decodes);
  }
};

struct PublishedLoader {
  std::uint64_t process = 0, sequence = 0;
  std::string source;
  LoaderStats stats;
  LoaderProgress progress;
};

// Accepts any bytes: a fault names the error and its place. Unknown figures are ignored, missing
// figures are 0; no double is infinite, negative or NaN.
std::optional<Fault> parse_loader_page(PublishedLoader& out, Bytes page);

}  // namespace tundish
