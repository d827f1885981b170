// Options for preprocessing the images of a pack while it is written.
#pragma once

#include <cstdint>
#include <string>

#include "augment/filter.h"
#include "base/image.h"
#include "codec/lanes/geometry.h"

namespace tundish {

enum class ResizeTo : std::uint8_t { none, shortest, longest, exact };

// Encoding of a new image. automatic: a JPEG as a JPEG, a .npy array as raw, others as a PNG.
enum class Reencode : std::uint8_t { automatic, jpeg, png, raw };
constexpr std::array<const char*, 4> words(Reencode) { return {"auto", "jpeg", "png", "raw"}; }

struct PreprocessOptions {
  ResizeTo resize = ResizeTo::none;
  int side = 0;                             // pixels, for shortest and longest
  Size exact = {};                          // for exact
  Filter interpolation = Filter::bilinear;  // same default as T.Resize
  Size center_crop = {};                    // {0, 0}: no crop
  bool enlarge = false;                     // false: keep an image that would be enlarged or padded

  Reencode reencode = Reencode::automatic;
  int quality = 90;                                     // JPEG quality
  lanes::Sampling chroma = lanes::Sampling::half_both;  // for JPEGs that are not gray

  // Whether to store the original if it has fewer bytes. Raw images favor speed over size.
  enum class IfLarger : std::uint8_t { automatic, keep, replace };
  IfLarger if_larger = IfLarger::automatic;  // replace for raw, keep for others

  // true: an image with EXIF rotation is stored upright. false: such an image is kept, because its
  // pixels depend on the loader's option exif_orientation.
  bool apply_orientation = false;

  bool has_geometry() const { return resize != ResizeTo::none || center_crop != Size{}; }
};

// Returns "shortest=256", "longest=512", "320x240"; empty without a resize.
std::string resize_text(const PreprocessOptions& options);
// Returns "auto", "jpeg:q90:420", "png", "raw".
std::string reencode_text(const PreprocessOptions& options);
std::string size_text(Size size);  // "320x240"

// Returns a JSON object of all options, keys sorted.
std::string options_json(const PreprocessOptions& options);

}  // namespace tundish
