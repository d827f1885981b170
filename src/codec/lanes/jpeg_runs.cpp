#include "codec/lanes/jpeg_runs.h"

#include "codec/lanes/jpeg_scan_ac.h"

namespace tundish::lanes {
namespace {

// Returns entropy-coded bytes without stuffing and restart markers.
std::vector<std::uint8_t> plain_bytes(Bytes data) {
  std::vector<std::uint8_t> out;
  out.reserve(data.size());
  for (std::size_t i = 0; i < data.size(); ++i) {
    const auto byte = std::to_integer<std::uint8_t>(data[i]);
    const bool escape = byte == 0xff && i + 1 < data.size();
    if (escape && is_restart(std::to_integer<std::uint8_t>(data[i + 1]))) {
      ++i;
      continue;
    }
    out.push_back(byte);
    if (escape) ++i;
  }
  return out;
}

// A sink that writes nothing. Follows the existing bits and reads a run's length where the run
// begins.
class RunFinder {
 public:
  RunFinder(const std::vector<std::uint8_t>& bytes, OddRuns& out) : bytes_(&bytes), out_(&out) {}

  void put(std::uint64_t, int count) { position_ += static_cast<std::size_t>(count); }

  // Also called with a run's own code after the run has ended.
  void put_code(std::uint32_t entry, std::uint32_t, int size) {
    position_ += (entry & 255) + static_cast<unsigned>(size);
  }
  std::uint32_t put_symbol(const Codes& codes, int run, int size) {
    ended_early_ = false;  // the previous run had to end
    put_code(codes.of(run, size), 0, 0);
    return codes.of(run, size);
  }
  std::uint32_t put_value(const Codes& codes, int run, int value) {
    const int size = value_bits(value).size;
    put_symbol(codes, run, size);
    put(0, size);
    return codes.of(run, size);
  }

  void align() {
    ended_early_ = false;
    position_ = (position_ + 7) / 8 * 8;
  }

  // Returns whether the run that has `run` blocks, including this one, ends here.
  bool ends_run(const Codes& codes, int run, std::uint32_t block) {
    if (run == 1) {
      if (ended_early_) out_->ends.push_back(last_end_);
      length_ = read_length(codes);
    }
    ended_early_ = run == length_;
    last_end_ = block;
    return ended_early_;
  }

  bool failed() const { return failed_; }

 private:
  unsigned bit(std::size_t position) const {
    return position / 8 < bytes_->size() ? (*bytes_)[position / 8] >> (7 - position % 8) & 1u : 0;
  }

  unsigned bits(std::size_t position, unsigned count) const {
    unsigned out = 0;
    for (unsigned i = 0; i < count; ++i) out = out << 1 | bit(position + i);
    return out;
  }

  int read_length(const Codes& codes) {
    for (int size = 0; size < 15; ++size) {
      const std::uint32_t entry = codes.of(size, 0);
      if ((entry & kMissingCode) != 0 || bits(position_, entry & 255) != entry >> 8) continue;
      const auto rest = bits(position_ + (entry & 255), static_cast<unsigned>(size));
      return (1 << size) + static_cast<int>(rest);
    }
    failed_ = true;
    return 0;
  }

  const std::vector<std::uint8_t>* bytes_;
  OddRuns* out_;
  std::size_t position_ = 0;  // position in bits
  int length_ = 0;            // length of the run
  bool ended_early_ = false;  // true if no value has followed the early end
  std::uint32_t last_end_ = 0;
  bool failed_ = false;
};

template <class Coder>
std::optional<OddRuns> find_with(const ScanSource& source, Bytes data) {
  OddRuns out;
  const std::vector<std::uint8_t> bytes = plain_bytes(data);
  RunFinder finder(bytes, out);
  ScanSource freely = source;
  freely.odd_runs = &out;  // without libjpeg's limit
  Coder coder(freely);
  int left = source.restart_interval;
  for (const Block& block : source.coefficients.blocks[source.header.component[0].component]) {
    if (source.restart_interval > 0 && left-- == 0) {
      coder.end_interval(finder);
      finder.align();
      left = source.restart_interval - 1;
    }
    coder.block(finder, block, 0);
    if (finder.failed()) return std::nullopt;
  }
  return out;
}

}  // namespace

std::optional<OddRuns> find_runs(const ScanSource& source, Bytes data) {
  return source.header.high > 0 ? find_with<AcRefineCoder>(source, data)
                                : find_with<AcFirstCoder>(source, data);
}

}  // namespace tundish::lanes
