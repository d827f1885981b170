#include "lanes/transcode.h"

#include "lanes/idct.h"

namespace tundish::lanes {
namespace {

bool same_blocks(const Coefficients& a, const Coefficients& b) {
  for (int c = 0; c < kMaxComponents; ++c) {
    if (a.blocks[c] != b.blocks[c]) return false;
    if (c < a.geometry.components && a.quantisation[c] != b.quantisation[c]) return false;
  }
  return a.colour == b.colour;
}

}  // namespace

Unfit Transcoder::transcode(std::vector<std::byte>& record, std::vector<std::byte>& restore,
                            Bytes file, const Tables& tables, const TranscodeOptions& options) {
  const Unfit unfit = take_apart(image_, literal_, file, options.limits);
  if (unfit != Unfit::none) return unfit;
  if (!is_exact(image_)) return Unfit::range;
  if (!settle(literal_, image_, file, file_)) return Unfit::not_restorable;
  if (options.strip_metadata) {
    strip_metadata(literal_);
    if (put_together(file_, image_, literal_, options.limits)) return Unfit::not_restorable;
  }
  if (!writer_.write(record, image_, tables)) return Unfit::range;
  restore = compress_restore(literal_, image_.quantisation, image_.geometry.components);
  if (static_cast<double>(record.size() + restore.size()) >
      options.max_growth * static_cast<double>(file.size())) {
    return Unfit::growth;
  }
  // settle() has proven the file by coefficients and restore data; what will be stored must give
  // just these, by the decoders that will read it.
  if (decoder_.decode(again_, record, tables) || !same_blocks(image_, again_)) {
    return Unfit::not_restorable;
  }
  if (expand_restore(file_, restore, again_.quantisation, again_.geometry.components,
                     options.limits) ||
      file_ != literal_) {
    return Unfit::not_restorable;
  }
  return Unfit::none;
}

void Transcoder::sample(ImageSample& out, Bytes file, int most, const JpegLimits& limits) {
  out.units.clear();
  if (take_apart(image_, literal_, file, limits) != Unfit::none) return;
  take_sample(out, image_, most, symbols_);
  out.file_bits = 8.0 * static_cast<double>(file.size()) * static_cast<double>(out.units.size()) /
                  image_.geometry.units();
}

std::optional<Fault> restore_file(std::vector<std::byte>& file, Bytes record, Bytes restore,
                                  const Tables& tables, Decoder& decoder,
                                  const JpegLimits& limits) {
  Coefficients image;
  if (auto fault = decoder.decode(image, record, tables)) return fault;
  std::vector<std::byte> literal;
  if (auto fault =
          expand_restore(literal, restore, image.quantisation, image.geometry.components, limits)) {
    return fault;
  }
  return put_together(file, image, literal, limits);
}

}  // namespace tundish::lanes
