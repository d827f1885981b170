#include "codec/lanes/transcode.h"

#include <fmt/format.h>

#include <algorithm>

#include "codec/lanes/idct.h"

namespace tundish::lanes {
namespace {

bool same_blocks(const Coefficients& a, const Coefficients& b) {
  for (int c = 0; c < kMaxComponents; ++c) {
    if (a.blocks[c] != b.blocks[c]) return false;
    if (c < a.geometry.components && a.quantization[c] != b.quantization[c]) return false;
  }
  return a.color == b.color;
}

}  // namespace

Unfit Transcoder::transcode(std::vector<std::byte>& record, std::vector<std::byte>& restore,
                            Bytes file, const Tables& tables, const TranscodeOptions& options) {
  const Unfit unfit = take_apart(image_, literal_, file, options.limits);
  if (unfit != Unfit::none) return unfit;
  if (!is_exact(image_)) return Unfit::range;
  if (!settle(literal_, image_, file, file_)) return Unfit::not_restorable;
  if (options.strip_metadata) {
    strip_metadata(literal_, image_.geometry, options.orientation);
    if (put_together(file_, image_, literal_, options.limits)) return Unfit::not_restorable;
  }
  if (!writer_.write(record, image_, tables)) return Unfit::range;
  restore = compress_restore(literal_, image_.quantization, image_.geometry.components);
  if (static_cast<double>(record.size() + restore.size()) >
      options.max_growth * static_cast<double>(file.size())) {
    return Unfit::growth;
  }
  // settle() has verified the file from coefficients and restore data. The stored bytes must yield
  // exactly these, through the decoders that will read them.
  return comes_back(record, restore, image_, literal_, tables, options.limits)
             ? Unfit::none
             : Unfit::not_restorable;
}

bool Transcoder::comes_back(Bytes record, Bytes restore, const Coefficients& image, Bytes literal,
                            const Tables& tables, const JpegLimits& limits) {
  if (decoder_.decode(again_, record, tables) || !same_blocks(image, again_)) return false;
  if (expand_restore(file_, restore, again_.quantization, again_.geometry.components, limits)) {
    return false;
  }
  return std::equal(file_.begin(), file_.end(), literal.begin(), literal.end());
}

Unfit Transcoder::encode(std::vector<std::byte>& record, std::vector<std::byte>& restore,
                         const Coefficients& image, Bytes literal, const Tables& tables,
                         const JpegLimits& limits) {
  if (!is_exact(image) || !writer_.write(record, image, tables)) return Unfit::range;
  restore = compress_restore(literal, image.quantization, image.geometry.components);
  return comes_back(record, restore, image, literal, tables, limits) ? Unfit::none
                                                                     : Unfit::not_restorable;
}

void Transcoder::sample(ImageSample& out, Bytes file, int most, const JpegLimits& limits) {
  out.units.clear();
  if (take_apart(image_, literal_, file, limits) != Unfit::none) return;
  sample(out, image_, most);
  out.file_bits = 8.0 * static_cast<double>(file.size()) * static_cast<double>(out.units.size()) /
                  image_.geometry.units();
}

void Transcoder::sample(ImageSample& out, const Coefficients& image, int most) {
  take_sample(out, image, most, symbols_);
  out.file_bits = 0;
}

void Transcoder::free_memory() {
  image_ = {};
  again_ = {};
  literal_ = {};
  file_ = {};
  writer_ = {};
}

std::optional<Fault> decode_within(Coefficients& image, Bytes record, const Tables& tables,
                                   Decoder& decoder, const JpegLimits& limits) {
  const std::optional<RecordSize> size = read_size(record);
  if (!size) return Fault{ErrorCode::image_header, "not a lanes record", 0};
  const auto pixels =
      static_cast<std::uint64_t>(size->width) * static_cast<std::uint64_t>(size->height);
  if (pixels > limits.max_pixels) {
    return Fault{ErrorCode::image_too_large,
                 fmt::format("{} x {} pixels; allowed are {} pixels", size->width, size->height,
                             with_commas(limits.max_pixels)),
                 0};
  }
  return decoder.decode(image, record, tables);
}

std::optional<Fault> restore_from(std::vector<std::byte>& file, const Coefficients& image,
                                  Bytes restore, const JpegLimits& limits) {
  std::vector<std::byte> literal;
  if (auto fault =
          expand_restore(literal, restore, image.quantization, image.geometry.components, limits)) {
    return fault;
  }
  auto fault = put_together(file, image, literal, limits);
  if (!fault) return std::nullopt;
  // The offset is in the expanded data and matches no stored byte.
  fault->reason +=
      fmt::format(" (at byte {} of the expanded restore data)", with_commas(fault->offset));
  fault->offset = 0;
  return fault;
}

}  // namespace tundish::lanes
