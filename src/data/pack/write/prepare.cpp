#include "data/pack/write/prepare.h"

#include <fmt/format.h>

#include "data/pack/checksum.h"
#include "data/pack/record_digest.h"
#include "data/pack/write/store_new_image.h"

namespace tundish {
namespace {

// Names the sample only: the number counts samples of the source, and record numbers differ.
Refusal refusal(std::uint64_t sample, const std::string& key, const Error& error) {
  Where where = error.where();
  if (!key.empty()) {
    where.record.reset();
    where.key = key;
  }
  return {sample, key, error.code(), Error(error.code(), where, error.reason()).what()};
}

// Refuses a field that a reader would reject before it allocates memory.
void refuse_too_large(Prepared& out, const Source& source, const Limits& limits) {
  for (const std::vector<std::byte>& field : out.sample.fields) {
    if (field.size() <= limits.max_bytes) continue;
    const Where where{.file = source.path(), .record = out.number, .key = out.key};
    out.refusal =
        refusal(out.number, out.key,
                Error(ErrorCode::image_too_large, where,
                      fmt::format("{} bytes, at most {} are allowed", with_commas(field.size()),
                                  with_commas(limits.max_bytes))));
    return;
  }
}

// Refuses an array that would make the pack unreadable: arrays of one shape have one length.
void refuse_wrong_length(Prepared& out, const Source& source) {
  const std::vector<Field>& fields = source.schema().fields;
  for (std::size_t f = 0; f < fields.size() && !out.refusal; ++f) {
    const std::uint64_t bytes = out.sample.fields[f].size();
    if (!fields[f].array || bytes == 0 || bytes == array_bytes(*fields[f].array)) continue;
    const Where where{.file = source.path(), .record = out.number, .key = out.key};
    out.refusal = refusal(
        out.number, out.key,
        Error(ErrorCode::image_damaged, where,
              fmt::format("field '{}' has {} bytes, which is not {}", printable(fields[f].name),
                          with_commas(bytes), array_text(*fields[f].array))));
  }
}

Where where_of_image(const Prepared& out, const Source& source) {
  return source.where_in(out.number, source.schema().find(FieldType::image));
}

const Field& schema_image(const Source& source) {
  return source.schema().fields[static_cast<std::size_t>(source.schema().find(FieldType::image))];
}

// Determines the kind and size of an image from its first bytes.
void measure_image(Prepared& out, Bytes image, const Source& source, const Limits& limits) {
  const Where where{.file = source.path(), .record = out.number, .key = out.key};
  if (image.empty()) {
    out.refusal = refusal(out.number, out.key, Error(ErrorCode::file_empty, where, ""));
    return;
  }
  const bool raw = schema_image(source).array.has_value();
  const std::optional<Codec> codec = raw ? Codec::raw : sniff(image);
  if (!codec || *codec == Codec::lanes) {  // lanes data exist only in packs
    out.refusal = refusal(out.number, out.key, Error(ErrorCode::not_an_image, where, ""));
    return;
  }
  out.info.codec = *codec;
  out.info.width = out.info.height = 0;
  out.info.orientation = 1;
  if (*codec == Codec::unknown) return;
  ImageHeader header;
  if (const auto fault = source.read_header(header, out.number, image, limits)) {
    // Bad data is packed unchanged, and loading it reports the error.
    if (fault->code == ErrorCode::codec_unsupported) {
      out.info.codec = Codec::unknown;
    } else {
      out.doubt = refusal(out.number, out.key, Error(*fault, where_of_image(out, source)));
    }
    return;
  }
  if (header.width > kMaxImageSide || header.height > kMaxImageSide) return;
  out.info.codec = header.codec;
  out.info.width = header.width;
  out.info.height = header.height;
  out.info.orientation =
      header.orientation >= 1 && header.orientation <= 8 ? header.orientation : std::uint8_t{1};
}

// Re-codes a JPEG if the result provably restores the same bytes; leaves other images unchanged.
void recode(Prepared& out, std::vector<std::byte>& image, Recoder& recoder) {
  if (!recoder.tables) return;
  std::vector<std::byte> record;
  lanes::TranscodeOptions options = recoder.options;
  options.orientation = out.info.orientation;
  out.unfit = recoder.transcoder.transcode(record, out.restore, image, *recoder.tables, options);
  if (out.unfit != lanes::Unfit::none) {
    out.restore.clear();
    return;
  }
  out.jpeg_bytes = image.size();
  out.info.codec = Codec::lanes;
  image.swap(record);
}

// Returns false if the transcoder stopped before it had read all coefficients or met an error.
bool was_read(lanes::Unfit unfit) {
  return unfit == lanes::Unfit::none || unfit == lanes::Unfit::range ||
         unfit == lanes::Unfit::not_restorable || unfit == lanes::Unfit::growth;
}

class NoSink : public StripSink {
 public:
  void push(const Strip&) override {}
};

// Decodes a JPEG that the transcoder did not read, so that a broken one is reported with the same
// fault as a loader reports.
void find_fault(Prepared& out, Bytes image, const Source& source, const Limits& limits,
                Recoder& recoder) {
  if (was_read(out.unfit) || out.unfit == lanes::Unfit::too_large) return;
  ImageHeader header;
  std::optional<Fault> fault = read_header(header, image, limits);
  if (!fault) {
    NoSink sink;
    const Window all{.width = static_cast<int>(header.width),
                     .height = static_cast<int>(header.height)};
    fault = decode(sink, image, header, all, recoder.scratch, limits);
  }
  if (fault) out.doubt = refusal(out.number, out.key, Error(*fault, where_of_image(out, source)));
}

// Returns true if the image was replaced. find_fault() reports a JPEG that cannot be decoded; this
// function reports other images.
bool is_preprocessed(Prepared& out, std::vector<std::byte>& image, const Source& source,
                     const Limits& limits, Recoder& recoder) {
  if (!recoder.step || out.refusal) return false;
  if (out.doubt) {
    out.preprocessed = Preprocessed::damaged;
    return false;
  }
  if (preprocess_image(out, image, limits, recoder)) return true;
  if (out.preprocessed == Preprocessed::damaged && out.info.codec != Codec::jpeg) {
    out.doubt =
        refusal(out.number, out.key, Error(*recoder.step->fault(), where_of_image(out, source)));
  }
  return false;
}

// Changes the image to its stored form.
void change_image(Prepared& out, std::vector<std::byte>& image, const Source& source,
                  const Limits& limits, Recoder& recoder) {
  if (is_preprocessed(out, image, source, limits, recoder)) return;
  if (!out.refusal && !out.doubt && out.info.codec == Codec::jpeg) {
    recode(out, image, recoder);
    find_fault(out, image, source, limits, recoder);
  } else if (out.doubt && out.info.codec == Codec::jpeg && recoder.tables) {
    out.unfit = out.doubt->code == ErrorCode::image_too_large ? lanes::Unfit::too_large
                                                              : lanes::Unfit::corrupt;
  }
}

// Waits for enough memory for an image of this size, then calls change_image().
void change_image_within_budget(Prepared& out, std::vector<std::byte>& image, const Source& source,
                                const Limits& limits, Recoder& recoder) {
  const std::uint64_t pixels = std::uint64_t{out.info.width} * out.info.height;
  if (!recoder.memory || (!recoder.tables && !recoder.step)) {
    return change_image(out, image, source, limits, recoder);
  }
  const WorkMemory::Room room(*recoder.memory, pixels * kWorkBytesPerPixel);
  change_image(out, image, source, limits, recoder);
  if (pixels > kLargePixels) recoder.transcoder.free_memory();
}

}  // namespace

void compute_checksums(Prepared& out, const Schema& schema, std::uint64_t record) {
  out.crc.clear();
  for (std::size_t f = 0; f < schema.fields.size(); ++f) {
    if (schema.fields[f].type == FieldType::label) continue;
    out.crc.push_back(piece_crc(record, static_cast<std::uint32_t>(f), out.sample.fields[f]));
  }
  out.restore_crc = piece_crc(record, kRestorePiece, out.restore);
}

void prepare(Prepared& out, const Source& source, const Limits& limits, Recoder& recoder) {
  const Schema& schema = source.schema();
  out.sample.fields.resize(schema.fields.size());
  out.key = source.key(out.number);
  out.info = source.info(out.number);
  const int image = schema.find(FieldType::image);
  refuse_too_large(out, source, limits);
  refuse_wrong_length(out, source);
  if (image < 0) {
    out.info = {.label = out.info.label};
  } else if (!out.refusal) {
    std::vector<std::byte>& bytes = out.sample.fields[static_cast<std::size_t>(image)];
    measure_image(out, bytes, source, limits);
    change_image_within_budget(out, bytes, source, limits, recoder);
  }
  if (out.refusal) {
    out.sample.fields.clear();
    return;
  }
  finish_sample(out, schema);
}

void finish_sample(Prepared& out, const Schema& schema) {
  compute_checksums(out, schema, out.record);
  std::vector<std::uint64_t> lengths;
  for (std::size_t f = 0; f < schema.fields.size(); ++f) {
    if (schema.fields[f].type == FieldType::label) continue;
    lengths.push_back(out.sample.fields[f].size());
    out.bytes += out.sample.fields[f].size();
  }
  if (out.info.codec == Codec::lanes) lengths.push_back(out.restore.size());
  out.bytes += out.restore.size();
  Digest digest;
  begin_record_digest(digest, out.info, out.key, lengths);
  for (std::size_t f = 0; f < schema.fields.size(); ++f) {
    if (schema.fields[f].type != FieldType::label) digest.add(out.sample.fields[f]);
  }
  digest.add(out.restore);
  out.digest = digest.value();
}

void refuse(Prepared& out, const Source& source, const SampleError& error) {
  out.sample.fields.clear();
  out.key = source.key(out.number);
  out.refusal = refusal(out.number, out.key, error);
}

}  // namespace tundish
