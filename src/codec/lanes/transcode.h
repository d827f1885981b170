// A JPEG file to a lanes record and back, proven on the way.
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
  double max_growth = 1.10;     // record and restore data against the file
  bool strip_metadata = false;  // drop EXIF, ICC and comments: the file cannot come back exactly
  JpegLimits limits = {};
};

// One thread's; keeps its memory from image to image.
class Transcoder {
 public:
  // Replaces `record` and `restore`. Unfit::none means proven: the record was decoded to the same
  // coefficients, and they and the restore data gave the same file, byte for byte.
  Unfit transcode(std::vector<std::byte>& record, std::vector<std::byte>& restore, Bytes file,
                  const Tables& tables, const TranscodeOptions& options = {});

  // The same for an image whose file was never written: its coefficients, and the restore data that
  // make the file of them (codec/lanes/jpeg_encode.h). Proven: both come back from what will be
  // stored.
  Unfit encode(std::vector<std::byte>& record, std::vector<std::byte>& restore,
               const Coefficients& image, Bytes literal, const Tables& tables,
               const JpegLimits& limits = {});

  // Units of a file, for training: at most `most`, none when the file is unfit.
  void sample(ImageSample& out, Bytes file, int most, const JpegLimits& limits = {});
  void sample(ImageSample& out, const Coefficients& image, int most);

  void free_memory();  // after a large image

 private:
  bool comes_back(Bytes record, Bytes restore, const Coefficients& image, Bytes literal,
                  const Tables& tables, const JpegLimits& limits);

  Coefficients image_, again_;
  std::vector<std::byte> literal_, file_;
  UnitSymbols symbols_;
  RecordWriter writer_;
  Decoder decoder_;
};

// The two halves of the way back, for callers that know where record and restore data are. Any
// bytes give coefficients, a file, or a fault. The first takes at most 6 bytes per pixel, the
// second three times limits.max_bytes; SECURITY.md has the sum. A fault's offset counts from the
// beginning of `record`, or of `restore`.
std::optional<Fault> decode_within(Coefficients& image, Bytes record, const Tables& tables,
                                   Decoder& decoder, const JpegLimits& limits = {});
std::optional<Fault> restore_from(std::vector<std::byte>& file, const Coefficients& image,
                                  Bytes restore, const JpegLimits& limits = {});

// Restore data as they are stored: compressed, with what most JPEGs begin with as a dictionary.
std::vector<std::byte> compress_restore(Bytes restore, const Quantization* quantization,
                                        int components);
std::optional<Fault> expand_restore(std::vector<std::byte>& out, Bytes stored,
                                    const Quantization* quantization, int components,
                                    const JpegLimits& limits = {});

}  // namespace tundish::lanes
