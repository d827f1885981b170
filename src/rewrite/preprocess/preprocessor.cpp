#include "rewrite/preprocess/preprocessor.h"

#include "codec/decode/decode.h"
#include "codec/lanes/jpeg_encode.h"
#include "loader/sample/orientation.h"
#include "rewrite/preprocess/encode_npy.h"
#include "rewrite/preprocess/encode_png.h"
#include "rewrite/preprocess/resizer.h"
#include "rewrite/preprocess/target.h"

namespace tundish {
namespace {

// Returns the encoding of a new image whose source has this codec: jpeg, png or npy.
Codec new_codec(Reencode reencode, Codec source) {
  switch (reencode) {
    case Reencode::jpeg:
      return Codec::jpeg;
    case Reencode::png:
      return Codec::png;
    case Reencode::raw:
      return Codec::npy;
    case Reencode::automatic:
      break;
  }
  return source == Codec::jpeg || source == Codec::npy ? source : Codec::png;
}

class Step : public PreprocessStep {
 public:
  explicit Step(const PreprocessOptions& options) : options_(options) {}

  Preprocessed run(NewImage& out, Bytes image, const Limits& limits) override {
    fault_.reset();
    ImageHeader header;
    if ((fault_ = read_header(header, image, limits))) {
      return fault_->code == ErrorCode::codec_unsupported ? Preprocessed::not_decodable
                                                          : Preprocessed::damaged;
    }
    if (header.codec == Codec::unknown) return Preprocessed::not_decodable;
    if (header.gray16) return Preprocessed::deep;
    if (header.orientation != 1 && !options_.apply_orientation) return Preprocessed::turned;
    const Size stored{static_cast<int>(header.width), static_cast<int>(header.height)};
    const Target target = target_of(options_, upright_size(stored, header.orientation));
    const Codec codec = new_codec(options_.reencode, header.codec);
    if (!target.changes && !is_worth_encoding(header, codec)) {
      return target.too_small ? Preprocessed::smaller : Preprocessed::fits;
    }
    fault_ = resizer_.run(pixels_, image, header, header.orientation, target.transforms, limits);
    if (fault_) return Preprocessed::damaged;
    if (resizer_.is_transparent()) return Preprocessed::transparent;
    encode(out, codec);
    return Preprocessed::changed;
  }

  const std::optional<Fault>& fault() const override { return fault_; }

 private:
  // For an image that keeps its size: a lossy encoding is worthwhile only if no other change was
  // requested, a lossless one whenever it differs from the current encoding.
  bool is_worth_encoding(const ImageHeader& header, Codec codec) const {
    if (header.orientation != 1) return true;  // the image is rotated
    if (options_.reencode == Reencode::automatic) return false;
    return codec == Codec::jpeg ? !options_.has_geometry() : header.codec != codec;
  }

  void encode(NewImage& out, Codec codec) {
    using IfLarger = PreprocessOptions::IfLarger;
    const bool gray = is_gray(pixels_);
    out.codec = codec;
    out.size = pixels_.size;
    out.keep_smaller_original = options_.if_larger == IfLarger::keep ||
                                (options_.if_larger == IfLarger::automatic && codec != Codec::npy);
    if (codec == Codec::npy) return encode_npy(out.bytes, pixels_, gray);
    if (codec == Codec::png) return encode_png(out.bytes, pixels_, gray);
    jpeg_.encode(
        out.coefficients, out.restore, pixels_.rgb.data(), pixels_.size,
        {.quality = options_.quality, .sampling = gray ? lanes::Sampling::gray : options_.chroma});
  }

  const PreprocessOptions options_;
  std::optional<Fault> fault_;
  Resizer resizer_;
  RgbImage pixels_;
  lanes::JpegEncoder jpeg_;
};

class Steps : public Preprocessor {
 public:
  explicit Steps(const PreprocessOptions& options) : options_(options) {}
  std::unique_ptr<PreprocessStep> make_step() const override {
    return std::make_unique<Step>(options_);
  }
  bool makes_jpegs() const override {
    return options_.reencode == Reencode::jpeg || options_.reencode == Reencode::automatic;
  }
  std::string options_json() const override { return tundish::options_json(options_); }

 private:
  const PreprocessOptions options_;
};

}  // namespace

std::unique_ptr<const Preprocessor> make_preprocessor(const PreprocessOptions& options) {
  return std::make_unique<Steps>(options);
}

}  // namespace tundish
