// Prepares one sample outside of the writing thread.
#pragma once

#include "codec/decode/decode.h"
#include "codec/lanes/transcode.h"
#include "data/pack/write/ordered_queue.h"
#include "data/pack/write/preprocess.h"
#include "data/pack/write/work_memory.h"

namespace tundish {

// Re-codes JPEGs; one per thread.
struct Recoder {
  const lanes::Tables* tables = nullptr;  // nullptr: no re-coding
  lanes::TranscodeOptions options = {};
  lanes::Transcoder transcoder = {};
  DecodeScratch scratch = {};                 // for JPEGs that the transcoder cannot read
  std::unique_ptr<PreprocessStep> step = {};  // nullptr: images stay unchanged
  NewImage new_image = {};
  WorkMemory* memory = nullptr;  // shared by all threads; nullptr: one thread
};

// Examines the bytes in out.sample: fills info, key, checksums and digest, or refuses the sample.
// Requires `number` and `record`.
void prepare(Prepared& out, const Source& source, const Limits& limits, Recoder& recoder);

// Refuses a sample whose bytes could not be read.
void refuse(Prepared& out, const Source& source, const SampleError& error);

// Computes checksums, digest and bytes of a sample with info, key, fields and restore dataset.
void finish_sample(Prepared& out, const Schema& schema);

// Computes checksums of each stored field and the restore data for record number `record`.
void compute_checksums(Prepared& out, const Schema& schema, std::uint64_t record);

}  // namespace tundish
