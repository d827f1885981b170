// An append-only file of checksummed blocks beside a target, locked while its writer runs. It is
// the only record of an interrupted pack's progress. One thread.
//
//   block: u32 kBlockMagic | u32 payload bytes | payload | u32 checksum of (block number, payload)
//
// A truncated or damaged block ends the journal: everything behind the block is dropped.
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

// Constants of journal blocks, for the reader below, tests and fuzzers.
constexpr std::uint32_t kBlockMagic = 0x4a444e54;  // "TNDJ"
constexpr std::uint32_t kMaxBlockBytes = 1u << 30;

class Journal {
 public:
  // Opens or creates the file .NAME.journal and locks it. Throws Error(output_busy) if another
  // process holds the lock. The journal starts empty without `resume` and on file systems without
  // locks. Without locks, its name and suffix() contain the process number.
  Journal(const OutputTarget& target, bool resume);
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  const std::string& suffix() const { return suffix_; }  // for the journal's other files

  // Reads the next block. Returns false at the end and at the first block that is damaged.
  bool next(std::vector<std::byte>& payload);

  // A place between two blocks. rewind() drops all blocks behind the place from the journal.
  struct Place {
    std::uint64_t end = 0, blocks = 0;
  };
  Place place() const { return place_; }
  void rewind(Place place) { place_ = place; }

  bool is_blank() const { return file_.size() == 0; }  // true if never written to

  // Drops everything behind the last block and adds a block. Not durable before sync().
  void append(Bytes payload);
  void sync();

  void remove();  // removes the file; the destructor releases the lock

 private:
  bool open(const std::string& leaf);  // false: the file was removed meanwhile; try again
  bool lock();                         // false: the file system has no locks

  const OutputTarget& target_;
  std::string suffix_, leaf_;
  File file_;
  bool ignore_old_;  // true: ignore blocks of an earlier run
  Place place_;      // behind the last block
};

// Fills `out` from this offset of a journal; returns the number of bytes read.
using ReadJournal = std::function<std::size_t(std::span<std::byte> out, std::uint64_t offset)>;

// Reads the block at `place`, and moves `place` behind the block. Returns false at the end of a
// journal of `size` bytes, and at a damaged block. Accepts any bytes.
bool read_journal_block(std::vector<std::byte>& payload, Journal::Place& place, std::uint64_t size,
                        const ReadJournal& read);

// Removes the journal of a complete target. A pack killed after its last step leaves such a journal
// and no partial file. Ignores a journal that cannot be removed.
void remove_left_journal(const std::string& target);

}  // namespace tundish
