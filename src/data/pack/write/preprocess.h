// Changes to an image before it is stored: resizing, cropping, encoding again. The packer does not
// handle pixels; src/rewrite/preprocess implements this interface.
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

// Outcome of preprocessing an image. For all values but `changed`, the image is stored unchanged.
enum class Preprocessed : std::uint8_t {
  changed,
  fits,           // already has the requested size and encoding
  smaller,        // would be enlarged or padded
  grows,          // would take more bytes
  turned,         // its EXIF data rotate it
  transparent,    // resized colors would depend on whether alpha is kept
  deep,           // 16-bit grayscale
  not_decodable,  // in a format that cannot be decoded here
  damaged,        // fails to load
};
inline constexpr int kPreprocessed = 9;

const char* preprocessed_name(Preprocessed what);  // "already smaller", for a table

struct PreprocessReport {
  std::uint64_t images[kPreprocessed] = {};
  std::uint64_t bytes_before = 0;  // size of the changed images before the change
  std::uint64_t bytes_after = 0;   // stored size of the changed images, with restore data

  std::uint64_t changed() const { return images[0]; }
};

// A new image; reuse avoids memory allocation.
struct NewImage {
  Codec codec = Codec::unknown;  // jpeg: coefficients and restore; png, npy: bytes
  Size size;
  std::vector<std::byte> bytes;
  lanes::Coefficients coefficients;
  std::vector<std::byte>
      restore;  // data that make a file of the coefficients (codec/lanes/jpeg_file.h)
  bool keep_smaller_original = true;  // store the original if it has fewer bytes
};

// Preprocesses images for one thread.
class PreprocessStep {
 public:
  virtual ~PreprocessStep() = default;

  // Sets `out` only if the result is Preprocessed::changed. Accepts any bytes.
  virtual Preprocessed run(NewImage& out, Bytes image, const Limits& limits) = 0;

  // Returns the reason why the last image was damaged.
  virtual const std::optional<Fault>& fault() const = 0;
};

// Preprocesses every image of a pack. Any thread may make steps.
class Preprocessor {
 public:
  virtual ~Preprocessor() = default;
  virtual std::unique_ptr<PreprocessStep> make_step() const = 0;
  virtual bool makes_jpegs() const = 0;          // false: no new image is a JPEG
  virtual std::string options_json() const = 0;  // for the provenance: an object with sorted keys
};

// Returns the provenance: the options and the outcome of the images, keys sorted.
std::string preprocess_json(const Preprocessor& preprocessor, const PreprocessReport& report);

}  // namespace tundish
