// An append-only file of checksummed blocks beside a target, locked while its writer lives: the
// one thing that says how far an interrupted pack came. One thread.
//
//   block: u32 kBlockMagic | u32 payload bytes | payload | u32 checksum of (block number, payload)
//
// A block that is cut short or damaged ends the journal: what follows it is dropped.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "data/pack/output_target.h"

namespace tundish {

// The blocks of a journal in memory; for the reader below, tests and fuzzers.
constexpr std::uint32_t kBlockMagic = 0x4a444e54;  // "TNDJ"
constexpr std::uint32_t kMaxBlockBytes = 1u << 30;

class Journal {
 public:
  // Opens or makes the file .NAME.journal and locks it. Throws Error(output_busy) when another
  // process has the lock. Without `resume`, and where the file system has no locks, the journal
  // begins empty; without locks its name has the number of the process, and so has suffix().
  Journal(const OutputTarget& target, bool resume);
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  const std::string& suffix() const { return suffix_; }  // for files that belong to the journal

  // The next block. False at the end, and at the first block that is not as it was written.
  bool next(std::vector<std::byte>& payload);

  // Between two blocks. rewind(): what is behind the place is no longer part of the journal.
  struct Place {
    std::uint64_t end = 0, blocks = 0;
  };
  Place place() const { return place_; }
  void rewind(Place place) { place_ = place; }

  bool is_blank() const { return file_.size() == 0; }  // nobody has written into it

  // Drops what is behind the last block, and adds one. Not durable before sync().
  void append(Bytes payload);
  void sync();

  void remove();  // the file; the lock ends with this object

 private:
  bool open(const std::string& leaf);  // false: the file went away; again
  bool lock();                         // false: the file system has no locks

  const OutputTarget& target_;
  std::string suffix_, leaf_;
  File file_;
  bool ignore_old_;  // blocks that were there
  Place place_;      // behind the last block
};

// Fills `out` from this place of a journal; gives the bytes that there were.
using ReadJournal = std::function<std::size_t(std::span<std::byte> out, std::uint64_t offset)>;

// The block at `place`, which then moves behind it. False at the end of a journal of `size` bytes,
// and at a block that is not as it was written. Any bytes.
bool read_journal_block(std::vector<std::byte>& payload, Journal::Place& place, std::uint64_t size,
                        const ReadJournal& read);

// A pack that was killed after its last step leaves a journal and no partial file. Removes such a
// journal of a complete target; what cannot be removed stays.
void remove_left_journal(const std::string& target);

}  // namespace tundish
