// Facts kept about a sample once its bytes are in the file: enough for the index, the names, the
// pack id and the report. The journal stores rows, so that an interrupted pack can restore them.
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
  std::uint64_t number = 0;  // number of the sample in the source
  SampleInfo info = {};
  std::string key = {};
  std::vector<std::uint64_t> lengths = {};  // per stored field; empty if refused
  std::uint64_t restore = 0;                // restore data of a lanes record
  bool copied = false;                      // copied unchanged from another pack
  std::uint64_t jpeg_bytes = 0;             // size of the JPEG that became a lanes record
  lanes::Unfit unfit = lanes::Unfit::none;
  Preprocessed preprocessed = Preprocessed::fits;
  std::uint64_t original_bytes = 0;  // size of a changed image before the change
  PackId digest{};
  std::optional<Refusal> refusal = {};
  std::optional<Refusal> doubt = {};

  std::uint64_t stored_bytes() const;  // payload bytes, without checksums
};

// Moves key, refusal and doubt out of `prepared`.
Row take_row(Prepared& prepared, const Schema& schema);

void encode_row(WireWriter& out, const Row& row);

// Decodes the next row, with `stored` lengths unless refused. False if the bytes hold no row.
bool decode_row(Row& out, WireReader& in, std::size_t stored);

// Adds the row to the report: counts, bytes, refusals and the report's `lanes`.
void count_row(PackReport& report, const Row& row, const Schema& schema);
void count_lanes(LanesReport& report, const Row& row, const Schema& schema);
// For a pack with preprocessed images.
void count_preprocessed(PreprocessReport& report, const Row& row, const Schema& schema);

}  // namespace tundish
