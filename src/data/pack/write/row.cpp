#include "data/pack/write/row.h"

#include <algorithm>
#include <numeric>

#include "data/pack/index.h"
#include "data/pack/write/ordered_queue.h"

namespace tundish {
namespace {

constexpr std::uint8_t kRefused = 1, kDoubtful = 2, kCopied = 4;  // flags of a row

void encode_refusal(WireWriter& out, const Refusal& refusal) {
  out.word(static_cast<std::uint32_t>(refusal.code));
  out.text(refusal.text);
}

std::optional<Refusal> decode_refusal(WireReader& in, const Row& row) {
  Refusal out{.sample = row.number, .key = row.key, .code = ErrorCode::none, .text = {}};
  out.code = static_cast<ErrorCode>(in.word<std::uint32_t>());
  out.text = in.text();
  if (!find_error(out.code)) return std::nullopt;
  return out;
}

// Returns the image's column in Row::lengths.
std::size_t image_column(const Schema& schema) {
  const int image = schema.find(FieldType::image);
  return static_cast<std::size_t>(columns_of(schema)[static_cast<std::size_t>(image)]);
}

}  // namespace

std::uint64_t Row::stored_bytes() const {
  return std::accumulate(lengths.begin(), lengths.end(), restore);
}

Row take_row(Prepared& prepared, const Schema& schema) {
  Row row{.number = prepared.number, .info = prepared.info, .key = std::move(prepared.key)};
  row.copied = prepared.copied;
  row.jpeg_bytes = prepared.jpeg_bytes;
  row.unfit = prepared.unfit;
  row.preprocessed = prepared.preprocessed;
  row.original_bytes = prepared.original_bytes;
  row.digest = prepared.digest;
  row.refusal = std::move(prepared.refusal);
  row.doubt = std::move(prepared.doubt);
  if (row.refusal) return row;
  row.restore = prepared.restore.size();
  for (std::size_t f = 0; f < schema.fields.size(); ++f) {
    if (schema.fields[f].type == FieldType::label) continue;
    row.lengths.push_back(prepared.sample.fields[f].size());
  }
  return row;
}

void encode_row(WireWriter& out, const Row& row) {
  out.word(static_cast<std::uint8_t>((row.refusal ? kRefused : 0) | (row.doubt ? kDoubtful : 0) |
                                     (row.copied ? kCopied : 0)));
  out.word(static_cast<std::uint8_t>(row.info.codec));
  out.word(row.info.orientation);
  out.word(static_cast<std::uint8_t>(row.unfit));
  out.word(static_cast<std::uint8_t>(row.preprocessed));
  out.word(row.info.width);
  out.word(row.info.height);
  out.word(row.info.label);
  out.word(row.number);
  out.word(row.jpeg_bytes);
  out.word(row.original_bytes);
  out.word(row.restore);
  for (const std::uint64_t length : row.lengths) out.word(length);
  out.raw(row.digest);
  out.text(row.key);
  if (row.refusal) encode_refusal(out, *row.refusal);
  if (row.doubt) encode_refusal(out, *row.doubt);
}

bool decode_row(Row& out, WireReader& in, std::size_t stored) {
  out = {};
  const auto flags = in.word<std::uint8_t>();
  const auto codec = in.word<std::uint8_t>();
  out.info.orientation = in.word<std::uint8_t>();
  const auto unfit = in.word<std::uint8_t>();
  const auto preprocessed = in.word<std::uint8_t>();
  out.info.width = in.word<std::uint32_t>();
  out.info.height = in.word<std::uint32_t>();
  out.info.label = in.word<std::int64_t>();
  out.number = in.word<std::uint64_t>();
  out.jpeg_bytes = in.word<std::uint64_t>();
  out.original_bytes = in.word<std::uint64_t>();
  out.restore = in.word<std::uint64_t>();
  const bool refused = flags & kRefused;
  for (std::size_t f = 0; f < (refused ? 0 : stored); ++f) {
    out.lengths.push_back(in.word<std::uint64_t>());
  }
  const Bytes digest = in.raw(out.digest.size());
  std::copy(digest.begin(), digest.end(), out.digest.begin());
  out.key = in.text();
  out.copied = flags & kCopied;
  if (flags > (kRefused | kDoubtful | kCopied) || codec > static_cast<std::uint8_t>(Codec::gif) ||
      unfit >= lanes::kUnfits || preprocessed >= kPreprocessed) {
    return false;
  }
  out.info.codec = static_cast<Codec>(codec);
  out.unfit = static_cast<lanes::Unfit>(unfit);
  out.preprocessed = static_cast<Preprocessed>(preprocessed);
  if (refused && !(out.refusal = decode_refusal(in, out))) return false;
  if (flags & kDoubtful && !(out.doubt = decode_refusal(in, out))) return false;
  return !in.failed();
}

void count_preprocessed(PreprocessReport& report, const Row& row, const Schema& schema) {
  if (row.refusal || schema.find(FieldType::image) < 0) return;
  ++report.images[static_cast<std::size_t>(row.preprocessed)];
  if (row.preprocessed != Preprocessed::changed) return;
  report.bytes_before += row.original_bytes;
  report.bytes_after += row.lengths[image_column(schema)] + row.restore;
}

void count_lanes(LanesReport& report, const Row& row, const Schema& schema) {
  if (row.refusal || row.copied || row.preprocessed == Preprocessed::changed) return;
  if (row.unfit != lanes::Unfit::none) ++report.unfit[static_cast<std::size_t>(row.unfit)];
  if (row.info.codec != Codec::lanes || schema.find(FieldType::image) < 0) return;
  ++report.images;
  report.jpeg_bytes += row.jpeg_bytes;
  report.record_bytes += row.lengths[image_column(schema)];
  report.restore_bytes += row.restore;
}

static void count_label(UnnamedLabels& out, const Row& row, const Schema& schema) {
  const std::int64_t label = row.info.label;
  if (schema.classes.empty() || label < 0) return;
  if (static_cast<std::uint64_t>(label) < schema.classes.size()) return;
  if (out.samples++ == 0) out = {.samples = 1, .first = label, .key = row.key};
}

void count_row(PackReport& report, const Row& row, const Schema& schema) {
  if (row.doubt) report.doubtful.push_back(*row.doubt);
  if (row.refusal) {
    report.refused.push_back(*row.refusal);
    return;
  }
  ++report.samples;
  report.copied += row.copied;
  count_label(report.unnamed_labels, row, schema);
  count_lanes(report.lanes, row, schema);
  report.source_bytes += std::accumulate(row.lengths.begin(), row.lengths.end(), std::uint64_t{0});
  if (schema.find(FieldType::image) < 0) return;
  if (row.preprocessed == Preprocessed::changed) {
    report.source_bytes += row.original_bytes - row.lengths[image_column(schema)];
  } else if (row.info.codec == Codec::lanes) {
    report.source_bytes += row.jpeg_bytes - row.lengths[image_column(schema)];
  }
  ++report.samples_by_codec[static_cast<std::size_t>(row.info.codec)];
  report.kept_as_they_came += row.info.codec == Codec::unknown;
}

}  // namespace tundish
