// What is kept of a sample once its bytes are in the file: enough for the index, the names, the
// pack id and the report. The journal stores rows, so that an interrupted pack has them again.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/pack/format.h"
#include "data/pack/write/wire.h"
#include "data/pack/write/writer.h"

namespace tundish {

struct Prepared;

struct Row {
  std::uint64_t number = 0;  // of the sample in the source
  SampleInfo info = {};
  std::string key = {};
  std::vector<std::uint64_t> lengths = {};  // of each stored field; empty when refused
  std::uint64_t restore = 0;                // bytes of restore data of a lanes record
  bool copied = false;                      // from another pack, as it was there
  std::uint64_t jpeg_bytes = 0;             // of the file that became a lanes record
  lanes::Unfit unfit = lanes::Unfit::none;
  Preprocessed preprocessed = Preprocessed::fits;
  std::uint64_t original_bytes = 0;  // of an image that was changed, before
  PackId digest{};
  std::optional<Refusal> refusal = {};
  std::optional<Refusal> doubt = {};

  std::uint64_t stored_bytes() const;  // payloads, without their checksums
};

// Takes key, refusal and doubt out of `prepared`.
Row take_row(Prepared& prepared, const Schema& schema);

void encode_row(WireWriter& out, const Row& row);

// The next row, with `stored` lengths when it is not refused. False when the bytes hold none.
bool decode_row(Row& out, WireReader& in, std::size_t stored);

// Adds the row to the report: counts, bytes, refusals. `lanes` of the report too.
void count_row(PackReport& report, const Row& row, const Schema& schema);
void count_lanes(LanesReport& report, const Row& row, const Schema& schema);
// Of a pack whose images are preprocessed.
void count_preprocessed(PreprocessReport& report, const Row& row, const Schema& schema);

}  // namespace tundish
