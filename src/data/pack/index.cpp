#include "data/pack/index.h"

#include <fmt/format.h>

#include <array>

#include "data/pack/checksum.h"

namespace tundish {
namespace {

constexpr std::uint64_t kFixedBytes =
    8 + 4 + 4 + 1 + 1;  // label, width, height, codec, orientation

// Visits the columns in file order: wide before narrow, so that each is aligned.
template <typename AnIndex, typename Do>
void columns(AnIndex& index, Do&& action) {
  for (auto& column : index.length) action(column);
  action(index.restore);
  action(index.label);
  action(index.names_bytes);
  action(index.width);
  action(index.height);
  action(index.codec);
  action(index.orientation);
}

Fault damaged(std::string reason) { return Fault{ErrorCode::index_damaged, std::move(reason), 0}; }

}  // namespace

SampleInfo Index::info(std::uint64_t i) const {
  SampleInfo out;
  out.width = width[i];
  out.height = height[i];
  // A codec added by a later version is one that this version cannot decode.
  const bool known = is_image_file_codec(codec[i]) || is_lanes(i) ||
                     codec[i] == static_cast<std::uint8_t>(Codec::raw);
  out.codec = known ? static_cast<Codec>(codec[i]) : Codec::unknown;
  out.orientation = orientation[i];
  out.label = label[i];
  return out;
}

std::vector<int> columns_of(const Schema& schema) {
  std::vector<int> out;
  int next = 0;
  for (const Field& field : schema.fields) {
    out.push_back(field.type == FieldType::label ? -1 : next++);
  }
  return out;
}

std::size_t stored_fields(const Schema& schema) {
  return schema.fields.size() - (schema.find(FieldType::label) >= 0);
}

std::optional<std::uint64_t> index_bytes(std::uint64_t count, std::size_t stored, bool lanes) {
  std::uint64_t records, names;
  if (__builtin_mul_overflow(count, kFixedBytes + 8 * (stored + lanes), &records) ||
      __builtin_mul_overflow(names_blocks(count), std::uint64_t{8}, &names)) {
    return std::nullopt;
  }
  const auto sum = add(records, names);
  return sum ? add(*sum, kCrcBytes) : std::nullopt;
}

std::optional<Fault> read_index(Index& out, const ByteFile& file, std::uint64_t offset,
                                std::uint64_t count, std::size_t stored, bool lanes) {
  out.length.resize(stored);
  out.restore.resize(lanes ? count : 0);
  for (auto& column : out.length) column.resize(count);
  out.label.resize(count);
  out.names_bytes.resize(names_blocks(count));
  out.width.resize(count);
  out.height.resize(count);
  out.codec.resize(count);
  out.orientation.resize(count);

  std::uint32_t crc = begin_piece_crc(kNoRecord, kIndexPiece);
  bool cut_off = false;
  columns(out, [&](auto& column) {
    const std::span<std::byte> bytes = std::as_writable_bytes(std::span(column));
    cut_off |= file.read_at(bytes, offset) != bytes.size();
    crc = crc32c(bytes, crc);
    offset += bytes.size();
  });
  std::array<std::byte, kCrcBytes> end;
  cut_off |= file.read_at(end, offset) != end.size();
  if (cut_off) return damaged("the file became shorter while it was read");
  const auto stored_crc = load<std::uint32_t>(end.data());
  if (stored_crc != mask_crc(crc)) {
    return damaged(fmt::format("checksum: stored {:08x}, read {:08x}", stored_crc, mask_crc(crc)));
  }

  for (std::uint64_t i = 0; i < count; ++i) {
    if (out.width[i] > kMaxImageSide || out.height[i] > kMaxImageSide) {
      return damaged(fmt::format("record {} claims {} x {} pixels", with_commas(i), out.width[i],
                                 out.height[i]));
    }
    if (lanes && !out.is_lanes(i) && out.restore[i] != 0) {
      return damaged(fmt::format("record {} has restore data for nothing", with_commas(i)));
    }
    if (out.orientation[i] < 1 || out.orientation[i] > 8) {
      return damaged(fmt::format("record {} has orientation {}", with_commas(i),
                                 static_cast<int>(out.orientation[i])));
    }
  }
  return std::nullopt;
}

void for_each_column(const Index& index, const std::function<void(Bytes)>& part) {
  std::uint32_t crc = begin_piece_crc(kNoRecord, kIndexPiece);
  columns(index, [&](const auto& column) {
    const Bytes bytes = std::as_bytes(std::span(column));
    crc = crc32c(bytes, crc);
    part(bytes);
  });
  std::array<std::byte, kCrcBytes> end;
  store(end.data(), mask_crc(crc));
  part(end);
}

std::optional<std::vector<std::uint64_t>> record_offsets(const Index& index,
                                                         std::uint64_t alignment,
                                                         std::uint64_t limit) {
  std::vector<std::uint64_t> offsets;
  offsets.reserve(index.count() + 1);
  std::uint64_t end = kHeadBytes;
  for (std::uint64_t i = 0; i < index.count(); ++i) {
    const auto start = align_up(end, alignment);
    if (!start) return std::nullopt;
    offsets.push_back(*start);
    end = *start;
    for (const auto& column : index.length) {
      const auto payload = add(end, column[i]);
      const auto piece = payload ? add(*payload, kCrcBytes) : std::nullopt;
      if (!piece || *piece > limit) return std::nullopt;
      end = *piece;
    }
    if (index.is_lanes(i)) {
      const auto payload = add(end, index.restore[i]);
      const auto piece = payload ? add(*payload, kCrcBytes) : std::nullopt;
      if (!piece || *piece > limit) return std::nullopt;
      end = *piece;
    }
  }
  if (end > limit) return std::nullopt;
  offsets.push_back(end);
  return offsets;
}

}  // namespace tundish
