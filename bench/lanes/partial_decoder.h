// lanes::Decoder, stopped after a stage. The difference of two such times is the time of a stage.
#pragma once

#include <memory>
#include <optional>

#include "augment/cpu/resample.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/image.h"
#include "base/machine/cpu.h"
#include "codec/lanes/decode.h"
#include "codec/lanes/decode_unit.h"
#include "codec/lanes/record.h"
#include "codec/lanes/tables.h"

namespace tundish::bench {

enum class Until : int {
  head,     // the record's head was read, and the checksums of the rows the window needs are valid
  values,   // entropy decoding: masks and values, the input of the pixel stage
  samples,  // expanded, dequantized, inverse DCT: planes of Y, Cb, Cr
  rgb,      // upsampled, in RGB
};

// Decodes with the same parts as lanes::Decoder, and reuses its memory in the same way.
class PartialDecoder {
 public:
  PartialDecoder(Until until, Cpu cpu);

  // Before Until::rgb, the pushed strips have undefined contents.
  std::optional<Fault> decode(StripSink& sink, Bytes record, const Window& window,
                              const lanes::Tables& tables);

 private:
  struct Work {
    lanes::UnitValues values[2];
    lanes::UnitWork unit[2];
    alignas(64) std::byte last[2][0x10000 + lanes::kReadableBehind];
  };

  lanes::CodedUnit coded(int x, int y, int place);

  Until until_;
  lanes::DecodeUnits decode_units_;
  lanes::Pixels pixels_;
  lanes::Renderer renderer_;
  lanes::Record record_;
  std::unique_ptr<Work> work_;
};

}  // namespace tundish::bench
