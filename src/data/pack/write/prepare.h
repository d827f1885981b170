// Everything about one sample that can be done away from the writing thread.
#pragma once

#include "codec/decode/decode.h"
#include "codec/lanes/transcode.h"
#include "data/pack/write/handover.h"
#include "data/pack/write/preprocess.h"
#include "data/pack/write/work_memory.h"

namespace tundish {

// How JPEGs are re-coded; one per thread.
struct Recoder {
  const lanes::Tables* tables = nullptr;  // nullptr: not at all
  lanes::TranscodeOptions options = {};
  lanes::Transcoder transcoder = {};
  DecodeScratch scratch = {};                 // of JPEGs that the transcoder cannot read
  std::unique_ptr<PreprocessStep> step = {};  // nullptr: images stay as they are
  NewImage new_image = {};
  WorkMemory* memory = nullptr;  // of all threads; nullptr: only one works
};

// Looks at the bytes in out.sample: fills info, key, checksums and digest, or refuses the sample.
// `number` and `record` are set.
void prepare(Prepared& out, const Source& source, const Limits& limits, Recoder& recoder);

// A sample whose bytes could not be read.
void refuse(Prepared& out, const Source& source, const SampleError& error);

// Checksums, digest and bytes of a sample whose info, key, fields and restore data are set.
void finish_sample(Prepared& out, const Schema& schema);

// Checksum of each stored field, and of the restore data, as record `record`.
void compute_checksums(Prepared& out, const Schema& schema, std::uint64_t record);

}  // namespace tundish
