#include "data/pack/write/store_new_image.h"

namespace tundish {
namespace {

// In a lanes record of few pixels, the head may outweigh the savings of the coder. So the JPEG file
// is made too, and the smaller one is stored. Larger images become a file only if lanes cannot.
constexpr std::int64_t kFewPixels = 128 * 128;

bool write_file(std::vector<std::byte>& file, const NewImage& image, const Recoder& recoder) {
  return !lanes::put_together(file, image.coefficients, image.restore, recoder.options.limits);
}

// Encodes a JPEG as a lanes record with restore data, or as a file. False: neither is possible.
bool store_jpeg(Codec& codec, std::vector<std::byte>& bytes, std::vector<std::byte>& restore,
                const NewImage& image, Recoder& recoder) {
  codec = Codec::jpeg;
  restore.clear();
  if (!recoder.tables) return write_file(bytes, image, recoder);
  const lanes::Unfit unfit = recoder.transcoder.encode(
      bytes, restore, image.coefficients, image.restore, *recoder.tables, recoder.options.limits);
  const bool is_small = std::int64_t{image.size.width} * image.size.height <= kFewPixels;
  if (unfit == lanes::Unfit::none && !is_small) {
    codec = Codec::lanes;
    return true;
  }
  std::vector<std::byte> file;
  if (!write_file(file, image, recoder)) return false;
  const auto most = recoder.options.max_growth * static_cast<double>(file.size());
  if (unfit == lanes::Unfit::none && static_cast<double>(bytes.size() + restore.size()) <= most) {
    codec = Codec::lanes;
    return true;
  }
  bytes.swap(file);
  restore.clear();
  return true;
}

}  // namespace

bool preprocess_image(Prepared& out, std::vector<std::byte>& image, const Limits& limits,
                      Recoder& recoder) {
  NewImage& made = recoder.new_image;
  out.preprocessed = recoder.step->run(made, image, limits);
  if (out.preprocessed != Preprocessed::changed) return false;
  Codec codec = made.codec;
  std::vector<std::byte> bytes, restore;
  if (codec != Codec::jpeg) {
    bytes = made.bytes;
  } else if (!store_jpeg(codec, bytes, restore, made, recoder)) {
    out.preprocessed = Preprocessed::grows;  // exceeds the size limit of a file
    return false;
  }
  if (bytes.size() > limits.max_bytes ||
      (made.keep_smaller_original && bytes.size() + restore.size() >= image.size())) {
    out.preprocessed = Preprocessed::grows;
    return false;
  }
  out.original_bytes = image.size();
  image.swap(bytes);
  out.restore.swap(restore);
  out.info.codec = codec;
  out.info.width = static_cast<std::uint32_t>(made.size.width);
  out.info.height = static_cast<std::uint32_t>(made.size.height);
  out.info.orientation = 1;
  return true;
}

}  // namespace tundish
