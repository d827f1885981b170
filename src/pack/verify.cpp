// Pack::verify: one walk over the file in order, every byte read once.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "pack/checksum.h"
#include "pack/digest.h"
#include "pack/metadata.h"
#include "pack/reader.h"
#include "pack/record_digest.h"

namespace tundish {
namespace {

constexpr std::uint64_t kBufferBytes = 1 << 20;

struct Stopped {};

// Hands out the bytes of a file in order and sums them up. What cannot be read is reported and
// counts as zeros, so that the walk goes on and the pieces concerned fail their checksums.
class Walk {
 public:
  using Bad = std::function<void(const Error&)>;
  using Progress = std::function<bool(std::uint64_t)>;

  Walk(const ByteFile& file, std::uint64_t end, const Bad& bad, const Progress& progress)
      : file_(file), end_(end), bad_(bad), progress_(progress) {
    buffer_.resize(std::min(kBufferBytes, end));
  }

  std::uint64_t at() const { return next_ - left_.size(); }

  // Calls part(bytes) for the next `bytes` bytes, one or more times.
  template <typename Part>
  void take(std::uint64_t bytes, Part&& part) {
    while (bytes > 0) {
      if (left_.empty()) refill();
      const Bytes now = left_.first(std::min<std::uint64_t>(bytes, left_.size()));
      part(now);
      left_ = left_.subspan(now.size());
      bytes -= now.size();
    }
  }

  PackId digest() const { return digest_.value(); }

 private:
  void refill() {
    if (progress_ && !progress_(next_)) throw Stopped{};
    const std::span<std::byte> out =
        std::span(buffer_).first(std::min<std::uint64_t>(buffer_.size(), end_ - next_));
    std::size_t got = 0;
    try {
      got = file_.read_at(out, next_);
      if (got < out.size()) {
        bad_(Error(ErrorCode::record_cut_off, {.file = file_.path(), .offset = next_ + got},
                   "the file became shorter while it was read"));
      }
    } catch (const Error& error) {
      bad_(Error(error.code(), {.file = file_.path(), .offset = next_}, error.reason()));
    }
    std::fill(out.begin() + static_cast<std::ptrdiff_t>(got), out.end(), std::byte{0});
    digest_.add(out);
    left_ = out;
    next_ += out.size();
  }

  const ByteFile& file_;
  const std::uint64_t end_;
  const Bad& bad_;
  const Progress& progress_;
  std::vector<std::byte> buffer_;
  Bytes left_;
  std::uint64_t next_ = kHeadBytes;
  Digest digest_;
};

}  // namespace

void Pack::verify(const std::function<void(const Error&)>& bad,
                  const std::function<bool(std::uint64_t)>& progress) const {
  bool sound = true;
  const std::function<void(const Error&)> report = [&](const Error& error) {
    sound = false;
    bad(error);
  };
  const std::uint64_t tail_offset = file_bytes() - kTailBytes;
  Walk walk(*file_, tail_offset, report, progress);

  const auto padding_to = [&](std::uint64_t offset, std::optional<std::uint64_t> record) {
    const std::uint64_t start = walk.at();
    bool zeros = true;
    walk.take(offset - start, [&](Bytes part) {
      zeros &= std::all_of(part.begin(), part.end(), [](std::byte b) { return b == std::byte{0}; });
    });
    if (!zeros) {
      report(Error(ErrorCode::padding_damaged, {.file = path(), .record = record, .offset = start},
                   "not all are zero"));
    }
  };
  // A piece and its checksum; hands the payload to `also`.
  const auto piece = [&](std::uint64_t owner, std::uint32_t number, std::uint64_t payload,
                         const auto& also, const auto& wrong) {
    const std::uint64_t start = walk.at();
    std::uint32_t crc = begin_piece_crc(owner, number);
    walk.take(payload, [&](Bytes part) {
      crc = crc32c(part, crc);
      also(part);
    });
    std::array<std::byte, kCrcBytes> end;
    std::size_t filled = 0;
    walk.take(kCrcBytes, [&](Bytes part) {
      std::copy(part.begin(), part.end(), end.begin() + static_cast<std::ptrdiff_t>(filled));
      filled += part.size();
    });
    const auto stored = load<std::uint32_t>(end.data());
    if (stored != mask_crc(crc)) {
      wrong(start, fmt::format("stored {:08x}, read {:08x}", stored, mask_crc(crc)));
    }
  };
  const auto section = [&](const Section& where, std::uint32_t number, ErrorCode code) {
    padding_to(where.offset, std::nullopt);
    piece(
        kNoRecord, number, where.bytes - kCrcBytes, [](Bytes) {},
        [&](std::uint64_t start, const std::string& reason) {
          report(Error(code, {.file = path(), .offset = start}, reason));
        });
  };

  try {
    Digest id;
    id.add(schema_json(schema_));
    Digest record_digest;
    std::vector<std::string> names;
    std::vector<std::uint64_t> lengths(index_.length.size());
    for (std::uint64_t i = 0; i < count(); ++i) {
      if (i % kNamesPerBlock == 0) {
        try {
          names = read_names(i / kNamesPerBlock);
        } catch (const Error& error) {
          names.assign(kNamesPerBlock, "");
          // A damaged block is reported in its turn, below.
          if (error.code() != ErrorCode::index_damaged) report(error);
        }
      }
      const std::string& name = names[i % kNamesPerBlock];
      for (std::size_t c = 0; c < lengths.size(); ++c) lengths[c] = index_.length[c][i];
      SampleInfo info = index_.info(i);
      info.codec = static_cast<Codec>(index_.codec[i]);  // as stored, also when not known
      begin_record_digest(record_digest, info, name, lengths);

      padding_to(offsets_[i], i);
      for (std::size_t field = 0; field < columns_.size(); ++field) {
        if (columns_[field] < 0) continue;
        piece(
            i, static_cast<std::uint32_t>(field),
            lengths[static_cast<std::size_t>(columns_[field])],
            [&](Bytes part) { record_digest.add(part); },
            [&](std::uint64_t start, const std::string& reason) {
              report(SampleError(
                  ErrorCode::record_checksum,
                  {.file = path(), .record = i, .key = name, .offset = start},
                  fmt::format("field {}: {}", printable(schema_.fields[field].name), reason)));
            });
      }
      id.add(record_digest.value());
    }

    section(tail_.metadata, kMetadataPiece, ErrorCode::metadata_damaged);
    section(tail_.tables, kTablesPiece, ErrorCode::metadata_damaged);
    padding_to(tail_.names.offset, std::nullopt);
    std::vector<std::byte> block;
    for (std::uint64_t b = 0; b < index_.names_bytes.size(); ++b) {
      const std::uint64_t start = walk.at();
      block.clear();
      block.reserve(index_.names_bytes[b]);
      walk.take(index_.names_bytes[b],
                [&](Bytes part) { block.insert(block.end(), part.begin(), part.end()); });
      const std::uint64_t first = b * kNamesPerBlock;
      if (auto fault = decode_names(names, block, b, std::min(kNamesPerBlock, count() - first))) {
        report(Error(*fault, {.file = path(), .offset = start}));
      }
    }
    section(tail_.index, kIndexPiece, ErrorCode::index_damaged);
    padding_to(tail_offset, std::nullopt);

    // With damage found already these would only say it again.
    if (sound && walk.digest() != tail_.digest) {
      report(Error(ErrorCode::digest_differs, {.file = path()},
                   "stored " + hex(tail_.digest) + ", read " + hex(walk.digest())));
    }
    if (sound && id.value() != head_.id) {
      report(Error(ErrorCode::digest_differs, {.file = path()},
                   "pack id: stored " + hex(head_.id) + ", read " + hex(id.value())));
    }
    if (progress) progress(file_bytes());
  } catch (const Stopped&) {
  }
}

}  // namespace tundish
