#include "data/pack/salvage/scan.h"

#include <algorithm>
#include <array>

#include "base/interruption.h"
#include "codec/decode/decode.h"
#include "data/pack/checksum.h"
#include "data/pack/salvage/piece_search.h"

namespace tundish {
namespace {

constexpr std::uint64_t kNumbersAhead = 8;    // records that may be lost in a row
constexpr std::uint64_t kMinAhead = 1 << 20;  // bytes searched behind a lost record
constexpr std::uint64_t kSlowPlaces = 256;
constexpr std::uint64_t kMaxBudgeted = std::uint64_t{1} << 56;
constexpr std::size_t kSniffBytes = 64;

class Scan {
 public:
  Scan(const ByteFile& file, const RecordScan& scan)
      : file_(file),
        scan_(scan),
        window_(file),
        ahead_(file),
        end_(std::min(scan.records_end.value_or(file.size()), file.size())) {
    for (std::size_t f = 0; f < scan.schema.fields.size(); ++f) {
      const Field& field = scan.schema.fields[f];
      if (field.type == FieldType::label) continue;
      pieces_.push_back({static_cast<std::uint32_t>(f), known_length(field),
                         field.type == FieldType::image && !field.array});
    }
  }

  ScanResult run() {
    std::uint64_t at = scan_.begin > 0 ? scan_.begin : *align_up(kHeadBytes, scan_.alignment);
    std::uint64_t number = scan_.first;
    while (at < end_) {
      check_stop(file_.path());
      if (scan_.progress) scan_.progress(at, end_);
      const std::uint64_t first = number;
      if (!match(at, {&number, 1}, Limits{}.max_bytes) && !match_before_damage(at, number)) {
        if (!scan_.through_damage || !resume_behind(at, number)) break;
        out_.lost.push_back({first, found_.number - first, "damaged"});
      }
      at = *align_up(found_end_, scan_.alignment);
      largest_ = std::max(largest_, at - found_.offset);
      number = found_.number + 1;
      out_.end = found_end_;
      out_.records.push_back(std::move(found_));
    }
    return std::move(out_);
  }

 private:
  struct Piece {
    std::uint32_t number;
    std::optional<std::uint64_t> length;  // set if all records have the same length
    bool is_image;                        // true for an encoded (not raw) image
  };

  static std::optional<std::uint64_t> known_length(const Field& field) {
    if (field.type == FieldType::number) return 8;
    return field.array ? array_bytes(*field.array) : std::nullopt;
  }

  std::optional<Codec> codec_at(std::uint64_t at) {
    const Bytes bytes = ahead_.at(at, kSniffBytes);
    return sniff(bytes.first(std::min(bytes.size(), kSniffBytes)));
  }

  bool begins_with_image() const { return pieces_[0].is_image; }

  // Stores a record, one of `numbers`, that begins at `at` in found_.
  bool match(std::uint64_t at, std::span<const std::uint64_t> numbers, std::uint64_t most) {
    if (begins_with_image() && !codec_at(at)) return false;
    found_ = {.number = 0, .offset = at};
    most_ = most;
    return match_piece(0, at, numbers, false);
  }

  // Matches piece `p` and all following pieces. The schema limits the depth: 64 fields and one.
  bool match_piece(std::size_t p, std::uint64_t at, std::span<const std::uint64_t> numbers,
                   bool lanes) {
    const bool restore = p == pieces_.size();
    if (restore && !lanes) return ends_here(at);
    const std::uint32_t number = restore ? kRestorePiece : pieces_[p].number;
    const bool is_lanes =
        lanes || (!restore && pieces_[p].is_image && codec_at(at) == Codec::lanes);
    if (!restore && number == image_) {
      found_.info.codec = pieces_[p].is_image ? codec_at(at).value_or(Codec::unknown) : Codec::raw;
    }
    const auto go_on = [&](const PieceEnd& end) {
      const std::array<std::uint64_t, 1> one = {end.record};
      const std::uint64_t next = end.payload_end + kCrcBytes;
      found_.number = end.record;
      if (restore) {
        found_.restore = end.payload_end - at;
        return ends_here(next);
      }
      found_.lengths.resize(p);
      found_.lengths.push_back(end.payload_end - at);
      return match_piece(p + 1, next, one, is_lanes);
    };
    if (!restore && pieces_[p].length) return match_known(p, at, numbers, go_on);
    // A separate window: matching the following pieces would move this one.
    ByteWindow window(file_);
    ByteWindow& used = p == 0 ? window_ : window;
    const std::uint64_t most = std::min({most_, end_ - std::min(at, end_), budget_});
    const bool fits = find_piece_end(used, at, number, numbers, most, go_on).has_value();
    if (!fits) budget_ -= std::min(budget_, most);
    return fits;
  }

  template <typename GoOn>
  bool match_known(std::size_t p, std::uint64_t at, std::span<const std::uint64_t> numbers,
                   const GoOn& go_on) {
    for (const std::uint64_t length : {*pieces_[p].length, std::uint64_t{0}}) {
      if (length > Limits{}.max_bytes || at + length + kCrcBytes > end_) continue;
      const Bytes bytes = ahead_.at(at, length + kCrcBytes);
      if (bytes.size() < length + kCrcBytes) continue;
      const auto stored = load<std::uint32_t>(bytes.data() + length);
      for (const std::uint64_t record : numbers) {
        if (piece_crc(record, pieces_[p].number, bytes.first(length)) != stored) continue;
        if (go_on({at + length, record})) return true;
        break;  // go_on() moved the window
      }
    }
    return false;
  }

  // Returns true if a record may end before this byte: zeros up to the next record or metadata.
  bool ends_here(std::uint64_t end) {
    if (end > end_) return false;
    const std::uint64_t next = *align_up(end, scan_.alignment);
    const bool is_last = scan_.records_end && *align_up(end, kSectionAlignment) == end_;
    const std::uint64_t gap_end = is_last ? end_ : std::min(next, end_);
    const Bytes gap = ahead_.at(end, gap_end - end);
    for (std::uint64_t i = 0; i < gap_end - end && i < gap.size(); ++i) {
      if (gap[i] != std::byte{0}) return false;
    }
    if (is_last || next >= end_ || !begins_with_image()) return found(end);
    // Metadata at an unknown place may follow.
    const Bytes start = ahead_.at(*align_up(end, kSectionAlignment), 2);
    const bool metadata =
        start.size() >= 2 && start[0] == std::byte{'{'} && start[1] == std::byte{'"'};
    return (metadata || next_may_be_damaged_ || codec_at(next)) && found(end);
  }

  bool found(std::uint64_t end) {
    found_end_ = end;
    return true;
  }

  // Matches a record whose successor is damaged at its start. Chance fits are more likely then, so
  // only lengths that are usual in this file are tried.
  bool match_before_damage(std::uint64_t at, std::uint64_t number) {
    next_may_be_damaged_ = true;
    const bool fits = match(at, {&number, 1}, usual_most());
    next_may_be_damaged_ = false;
    return fits;
  }

  std::uint64_t usual_most() const { return std::max(kMinAhead, 4 * largest_); }

  // Finds the next record behind a damaged one.
  bool resume_behind(std::uint64_t at, std::uint64_t number) {
    std::vector<std::uint64_t> numbers;
    for (std::uint64_t n = 1; n <= kNumbersAhead; ++n) numbers.push_back(number + n);
    // A record that begins with an image, or with a field of fixed length, is rejected at once
    // where it cannot begin. Any other record needs a search at every place.
    const bool quick = begins_with_image() || pieces_[0].length;
    const std::uint64_t places = quick ? ~std::uint64_t{0} : kSlowPlaces;
    std::uint64_t place = at + scan_.alignment;
    for (std::uint64_t n = 0; n < places && place < end_; ++n, place += scan_.alignment) {
      if (place % (1 << 20) < scan_.alignment) check_stop(file_.path());
      if (match(place, numbers, usual_most())) return true;
    }
    return false;
  }

  const ByteFile& file_;
  const RecordScan& scan_;
  ByteWindow window_, ahead_;
  const std::uint64_t end_;
  const std::uint32_t image_ = static_cast<std::uint32_t>(scan_.schema.find(FieldType::image));
  std::vector<Piece> pieces_;
  std::uint64_t largest_ = 0, most_ = 0;
  // Bytes that may still be searched without success.
  std::uint64_t budget_ = scan_.search.least + scan_.search.per_byte * std::min(end_, kMaxBudgeted);
  bool next_may_be_damaged_ = false;
  FoundRecord found_;
  std::uint64_t found_end_ = 0;
  ScanResult out_;
};

}  // namespace

ScanResult scan_records(const ByteFile& file, const RecordScan& scan) {
  const bool any = std::any_of(scan.schema.fields.begin(), scan.schema.fields.end(),
                               [](const Field& field) { return field.type != FieldType::label; });
  return any ? Scan(file, scan).run() : ScanResult{};
}

}  // namespace tundish
