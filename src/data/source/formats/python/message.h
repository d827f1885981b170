// The protocol between a Python dataset and the program that packs it. The program sends questions
// on a socket, Python (python/tundish/samples/messages.py) answers; all words are little-endian.
//
//   question: u64 number of a sample, or kAskDescription
//   answer:   u32 kAnswerMagic | u32 AnswerKind | u64 payload bytes | payload
//
// Payloads; a text is u32 bytes and UTF-8:
//   sample       for each field: a label as i64, any other as u64 bytes and the bytes
//   description  u8 random access | u64 count (0 without random access) | text identity |
//                u32 fields, each: text name | u8 FieldType | u8 has array |
//                  with array: u8 ArrayElement | u8 sides | u64 of each side
//                u32 classes, each a text
//   raised, differs, failed: the reason, UTF-8 without a length
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/error.h"
#include "data/source/source.h"

namespace tundish {

inline constexpr std::uint64_t kAskDescription = ~std::uint64_t{0};
inline constexpr std::uint32_t kAnswerMagic = 0x53444e54;  // "TNDS"
inline constexpr std::size_t kAnswerHeadBytes = 16;
inline constexpr std::uint64_t kMaxAnswerBytes = 1ull << 30;
inline constexpr std::uint64_t kMaxPythonSamples = 50'000'000;

enum class AnswerKind : std::uint32_t {
  sample,
  raised,   // the dataset raised an exception for this sample
  differs,  // the sample does not match the description
  end,      // no such sample: an iterator is exhausted
  description,
  failed,  // no further answers follow
};

struct AnswerHead {
  AnswerKind kind = AnswerKind::failed;
  std::uint64_t payload_bytes = 0;
};

struct PythonDescription {
  bool random_access = false;
  std::uint64_t count = 0;  // kUnknownCount without random access
  std::string identity;     // changes with the samples
  Schema schema;
};

// Accepts any bytes. Faults: worker_ended, with the reason.
std::optional<Fault> parse_answer_head(AnswerHead& out,
                                       const std::array<std::byte, kAnswerHeadBytes>& bytes);
std::optional<Fault> parse_description(PythonDescription& out, Bytes payload);
// Sets `label` to -1 if the schema has none. Field lengths match the schema.
std::optional<Fault> parse_sample(Sample& out, std::int64_t& label, const Schema& schema,
                                  Bytes payload);

}  // namespace tundish
