// What may be done to an image before it is stored: resized, cropped, encoded again. The packer
// knows no pixels; src/rewrite/preprocess implements this.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "base/image.h"
#include "codec/lanes/coefficients.h"

namespace tundish {

struct Limits;

// What became of an image. All but `changed` mean that it is stored as it came.
enum class Preprocessed : std::uint8_t {
  changed,
  fits,           // it has the size and the encoding that were asked for
  smaller,        // it would have been enlarged or padded
  grows,          // it would have taken more bytes
  turned,         // its EXIF data turn it
  transparent,    // resized colors depend on whether alpha is kept
  deep,           // 16-bit grays
  not_decodable,  // an image in a format that cannot be decoded here
  damaged,        // loading it fails
};
inline constexpr int kPreprocessed = 9;

const char* preprocessed_name(Preprocessed what);  // "already smaller", for a table

struct PreprocessReport {
  std::uint64_t images[kPreprocessed] = {};
  std::uint64_t bytes_before = 0;  // of the images that were changed
  std::uint64_t bytes_after = 0;   // the same, as they are stored, with restore data

  std::uint64_t changed() const { return images[0]; }
};

// A new image; reused, it takes no new memory.
struct NewImage {
  Codec codec = Codec::unknown;  // jpeg: coefficients and restore; png, npy: bytes
  Size size;
  std::vector<std::byte> bytes;
  lanes::Coefficients coefficients;
  std::vector<std::byte>
      restore;  // what makes a file of the coefficients (codec/lanes/jpeg_file.h)
  bool keep_smaller_original = true;  // the original is stored when it has fewer bytes
};

// One thread's.
class PreprocessStep {
 public:
  virtual ~PreprocessStep() = default;

  // `out` means something after Preprocessed::changed alone. Any bytes may be given.
  virtual Preprocessed run(NewImage& out, Bytes image, const Limits& limits) = 0;

  // Why the last image was damaged.
  virtual const std::optional<Fault>& fault() const = 0;
};

// What is done to every image of a pack. Any thread may make steps.
class Preprocessor {
 public:
  virtual ~Preprocessor() = default;
  virtual std::unique_ptr<PreprocessStep> make_step() const = 0;
  virtual bool makes_jpegs() const = 0;          // false: no new image is a JPEG
  virtual std::string options_json() const = 0;  // for the provenance: an object, keys in order
};

// For the provenance: the options and what became of the images, keys in order.
std::string preprocess_json(const Preprocessor& preprocessor, const PreprocessReport& report);

}  // namespace tundish
