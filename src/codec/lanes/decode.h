// Decodes a lanes record to pixels or coefficients. Any bytes yield a result or a fault.
#pragma once

#include <memory>
#include <optional>

#include "base/bytes.h"
#include "base/error.h"
#include "base/image.h"
#include "base/machine/cpu.h"
#include "codec/lanes/coefficients.h"
#include "codec/lanes/decode_unit.h"
#include "codec/lanes/record.h"
#include "codec/lanes/renderer.h"
#include "codec/lanes/tables.h"

namespace tundish::lanes {

// Buffers that a thread reuses between records, so that decoding allocates nothing.
class Decoder {
 public:
  explicit Decoder(Cpu cpu = tundish::cpu());

  // Pushes the rows of `window` (inside the image) into the sink. On a fault, some rows may already
  // have been pushed.
  std::optional<Fault> decode(StripSink& sink, Bytes record, const Window& window,
                              const Tables& tables);

  // Decodes all coefficients, as in the JPEG; reuses the memory of `out`.
  std::optional<Fault> decode(Coefficients& out, Bytes record, const Tables& tables);

 private:
  struct Work {
    UnitValues values[2];
    UnitWork unit[2];
    alignas(64) std::byte last[2][0x10000 + kReadableBehind];  // units near the record's end
  };

  CodedUnit coded(int x, int y, int place);
  template <typename Use>
  std::optional<Fault> decode_units(const Tables& tables, int x0, int y0, int x1, int y1,
                                    const Use& use);

  DecodeUnits decode_units_;
  Cpu cpu_;
  Record record_;
  Renderer renderer_;
  std::unique_ptr<Work> work_;
};

}  // namespace tundish::lanes
