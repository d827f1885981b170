// Converts a JPEG file to a lanes record and back, and verifies the result.
#pragma once

#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "codec/lanes/coefficients.h"
#include "codec/lanes/decode.h"
#include "codec/lanes/jpeg_file.h"
#include "codec/lanes/record.h"
#include "codec/lanes/tables.h"
#include "codec/lanes/train.h"

namespace tundish::lanes {

struct TranscodeOptions {
  double max_growth = 1.10;      // size of record and restore data relative to the file
  bool strip_metadata = false;   // drop EXIF, ICC and comments: the exact file is lost
  std::uint8_t orientation = 1;  // of the image, from 1 to 8: stripped files keep it
  JpegLimits limits = {};
};

// Not thread-safe; reuses its memory from image to image.
class Transcoder {
 public:
  // Replaces `record` and `restore`. Unfit::none means verified: the record was decoded to the same
  // coefficients, which with the restore data reproduced the file byte for byte.
  Unfit transcode(std::vector<std::byte>& record, std::vector<std::byte>& restore, Bytes file,
                  const Tables& tables, const TranscodeOptions& options = {});

  // Like transcode(), for an image without a file: its coefficients, and the restore data that
  // turn them into a file (codec/lanes/jpeg_encode.h). Verified: the stored bytes yield both
  // again.
  Unfit encode(std::vector<std::byte>& record, std::vector<std::byte>& restore,
               const Coefficients& image, Bytes literal, const Tables& tables,
               const JpegLimits& limits = {});

  // Samples at most `most` units of a file for training; none if the file is unfit.
  void sample(ImageSample& out, Bytes file, int most, const JpegLimits& limits = {});
  void sample(ImageSample& out, const Coefficients& image, int most);

  void free_memory();  // call after a large image

 private:
  bool comes_back(Bytes record, Bytes restore, const Coefficients& image, Bytes literal,
                  const Tables& tables, const JpegLimits& limits);

  Coefficients image_, again_;
  std::vector<std::byte> literal_, file_;
  UnitSymbols symbols_;
  RecordWriter writer_;
  Decoder decoder_;
};

// The two halves of the reverse path, for callers that have record and restore data. Any bytes
// yield coefficients, a file, or a fault. The first takes at most 6 bytes per pixel, the second
// three times limits.max_bytes; SECURITY.md has the sum. A fault's offset is relative to the start
// of `record`, or of `restore`.
std::optional<Fault> decode_within(Coefficients& image, Bytes record, const Tables& tables,
                                   Decoder& decoder, const JpegLimits& limits = {});
std::optional<Fault> restore_from(std::vector<std::byte>& file, const Coefficients& image,
                                  Bytes restore, const JpegLimits& limits = {});

// Compresses restore data for storage, with the usual start of a JPEG as a dictionary.
std::vector<std::byte> compress_restore(Bytes restore, const Quantization* quantization,
                                        int components);
std::optional<Fault> expand_restore(std::vector<std::byte>& out, Bytes stored,
                                    const Quantization* quantization, int components,
                                    const JpegLimits& limits = {});

}  // namespace tundish::lanes
