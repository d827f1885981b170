// Pack::verify: walks once over the file in order, reading every byte once.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "data/pack/checksum.h"
#include "data/pack/digest.h"
#include "data/pack/metadata.h"
#include "data/pack/reader.h"
#include "data/pack/record_digest.h"

namespace tundish {
namespace {

constexpr std::uint64_t kBufferBytes = 1 << 20;

struct Stopped {};

// Yields the bytes of a file in order and updates the digest. Unreadable bytes are reported
// and replaced by zeros, so that the walk continues and the affected pieces fail their checksums.
class Walk {
 public:
  using Bad = std::function<void(const Error&)>;
  using Progress = std::function<bool(std::uint64_t)>;

  Walk(const ByteFile& file, std::uint64_t end, const Bad& bad, const Progress& progress)
      : file_(file), end_(end), bad_(bad), progress_(progress) {
    buffer_.resize(std::min(kBufferBytes, end));
  }

  std::uint64_t at() const { return next_ - left_.size(); }

  // Calls part(bytes) one or more times for the next `bytes` bytes.
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

// Checks one pack once, part by part in file order.
class Verification {
 public:
  Verification(const Pack& pack, const Walk::Bad& bad, const Walk::Progress& progress)
      : pack_(pack),
        bad_(bad),
        tail_offset_(pack.file_bytes() - kTailBytes),
        walk_(*pack.file_, tail_offset_, report_, progress) {}

  void run() {
    records();
    section(pack_.tail_.metadata, kMetadataPiece, ErrorCode::metadata_damaged);
    section(pack_.tail_.tables, kTablesPiece, ErrorCode::metadata_damaged);
    names();
    section(pack_.tail_.index, kIndexPiece, ErrorCode::index_damaged);
    padding_to(tail_offset_, std::nullopt);
    digests();
  }

 private:
  void padding_to(std::uint64_t offset, std::optional<std::uint64_t> record) {
    const std::uint64_t start = walk_.at();
    bool zeros = true;
    walk_.take(offset - start, [&](Bytes part) {
      zeros &= std::all_of(part.begin(), part.end(), [](std::byte b) { return b == std::byte{0}; });
    });
    if (zeros) return;
    report_(Error(ErrorCode::padding_damaged,
                  {.file = pack_.path(), .record = record, .offset = start}, "not all are zero"));
  }

  // Checks a piece and its checksum; passes the payload to `also` and a mismatch to `wrong`.
  template <typename Also, typename Wrong>
  void piece(std::uint64_t owner, std::uint32_t number, std::uint64_t payload, const Also& also,
             const Wrong& wrong) {
    const std::uint64_t start = walk_.at();
    std::uint32_t crc = begin_piece_crc(owner, number);
    walk_.take(payload, [&](Bytes part) {
      crc = crc32c(part, crc);
      also(part);
    });
    std::array<std::byte, kCrcBytes> end;
    std::size_t filled = 0;
    walk_.take(kCrcBytes, [&](Bytes part) {
      std::copy(part.begin(), part.end(), end.begin() + static_cast<std::ptrdiff_t>(filled));
      filled += part.size();
    });
    const auto stored = load<std::uint32_t>(end.data());
    if (stored == mask_crc(crc)) return;
    wrong(start, fmt::format("stored {:08x}, read {:08x}", stored, mask_crc(crc)));
  }

  void section(const Section& where, std::uint32_t number, ErrorCode code) {
    padding_to(where.offset, std::nullopt);
    piece(
        kNoRecord, number, where.bytes - kCrcBytes, [](Bytes) {},
        [&](std::uint64_t start, const std::string& reason) {
          report_(Error(code, {.file = pack_.path(), .offset = start}, reason));
        });
  }

  void records() {
    id_.add(schema_json(pack_.schema_));
    std::vector<std::string> names;
    for (std::uint64_t i = 0; i < pack_.count(); ++i) {
      if (i % kNamesPerBlock == 0) names = names_of(i / kNamesPerBlock);
      record(i, names[i % kNamesPerBlock]);
    }
  }

  // Returns empty names where reading fails; names() reports a damaged block later.
  std::vector<std::string> names_of(std::uint64_t block) {
    try {
      return pack_.read_names(block);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::index_damaged) report_(error);
      return std::vector<std::string>(kNamesPerBlock);
    }
  }

  void record(std::uint64_t i, const std::string& name) {
    lengths_.clear();
    for (const auto& column : pack_.index_.length) lengths_.push_back(column[i]);
    const bool lanes = pack_.index_.is_lanes(i);
    if (lanes) lengths_.push_back(pack_.index_.restore[i]);
    SampleInfo info = pack_.index_.info(i);
    info.codec = static_cast<Codec>(pack_.index_.codec[i]);  // as stored, even if unknown
    begin_record_digest(record_digest_, info, name, lengths_);

    padding_to(pack_.offsets_[i], i);
    for (std::size_t field = 0; field < pack_.columns_.size(); ++field) {
      const int column = pack_.columns_[field];
      if (column < 0) continue;
      part_of_record(i, name, static_cast<std::uint32_t>(field),
                     lengths_[static_cast<std::size_t>(column)],
                     printable(pack_.schema_.fields[field].name));
    }
    if (lanes) part_of_record(i, name, kRestorePiece, lengths_.back(), "restore data");
    id_.add(record_digest_.value());
  }

  void part_of_record(std::uint64_t i, const std::string& name, std::uint32_t number,
                      std::uint64_t bytes, const std::string& field) {
    piece(
        i, number, bytes, [&](Bytes part) { record_digest_.add(part); },
        [&](std::uint64_t start, const std::string& reason) {
          report_(SampleError(ErrorCode::record_checksum,
                              {.file = pack_.path(), .record = i, .key = name, .offset = start},
                              fmt::format("field {}: {}", field, reason)));
        });
  }

  void names() {
    padding_to(pack_.tail_.names.offset, std::nullopt);
    std::vector<std::byte> block;
    std::vector<std::string> names;
    for (std::uint64_t b = 0; b < pack_.index_.names_bytes.size(); ++b) {
      const std::uint64_t start = walk_.at();
      const std::uint64_t bytes = pack_.index_.names_bytes[b];
      block.clear();
      block.reserve(bytes);
      walk_.take(bytes, [&](Bytes part) { block.insert(block.end(), part.begin(), part.end()); });
      const std::uint64_t count = std::min(kNamesPerBlock, pack_.count() - b * kNamesPerBlock);
      if (auto fault = decode_names(names, block, b, count)) {
        report_(Error(*fault, {.file = pack_.path(), .offset = start}));
      }
    }
  }

  // After other damage, the digests would only report the same damage again.
  void digests() {
    if (sound_ && walk_.digest() != pack_.tail_.digest) {
      report_(Error(ErrorCode::digest_differs, {.file = pack_.path()},
                    "stored " + hex(pack_.tail_.digest) + ", read " + hex(walk_.digest())));
    }
    if (sound_ && id_.value() != pack_.head_.id) {
      report_(Error(ErrorCode::digest_differs, {.file = pack_.path()},
                    "pack id: stored " + hex(pack_.head_.id) + ", read " + hex(id_.value())));
    }
  }

  const Pack& pack_;
  const Walk::Bad& bad_;
  bool sound_ = true;
  const Walk::Bad report_ = [this](const Error& error) {
    sound_ = false;
    bad_(error);
  };
  const std::uint64_t tail_offset_;
  Walk walk_;
  Digest id_, record_digest_;
  std::vector<std::uint64_t> lengths_;  // lengths in the current record
};

void Pack::verify(const std::function<void(const Error&)>& bad,
                  const std::function<bool(std::uint64_t)>& progress) const {
  try {
    Verification(*this, bad, progress).run();
    if (progress) progress(file_bytes());
  } catch (const Stopped&) {
  }
}

}  // namespace tundish
