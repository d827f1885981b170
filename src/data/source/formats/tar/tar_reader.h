// Reads the regular files of a tar archive in order: v7, ustar, GNU (long names, large sizes) and
// pax (path, size). Extracts nothing. Skips links, folders and devices. Skips global pax headers
// too, except for a list of classes (data/source/labels.h). Refuses sparse files and multi-volume
// archives. Concatenated archives are read as one.
//
// Any bytes yield members or a fault. Header data (long names, pax) are limited to 1 MiB each, and
// sizes to less than 2^63. If the length of the stream is known, no member exceeds it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "data/source/byte_stream.h"

namespace tundish {

struct TarMember {
  std::string name;          // stored name: raw bytes without zeros, never empty
  std::uint64_t offset = 0;  // offset of its data in the stream
  std::uint64_t size = 0;
};

class TarReader {
 public:
  explicit TarReader(ByteStream& stream) : stream_(stream) {}

  // Reads the next regular file. Returns false at the end, and after a fault; fault() has the
  // offset of the header. An archive without an end mark is truncated, which is a fault. A request
  // to stop (base/interruption.h) is a fault with the code `interrupted`.
  bool next(TarMember& out);

  // Reads the data of the current member, once. The caller must have checked its size.
  bool read(std::vector<std::byte>& out);

  const std::optional<Fault>& fault() const { return fault_; }
  std::uint64_t links() const { return links_; }                        // links skipped so far
  const std::vector<std::string>& classes() const { return classes_; }  // the first list so far

 private:
  struct Header;
  struct Extended {  // values of long-name and pax headers for the next member
    std::optional<std::string> name;
    std::optional<std::uint64_t> size;
    bool sparse = false;
  };

  bool read_block();
  bool find_header(Header& header);
  bool pass_end();
  bool read_text(std::string& out, const Header& header);
  bool add_extended(Extended& out, const Header& header);
  void read_comment(std::string_view text);
  bool parse_pax(Extended& out, const std::string& text);
  bool check_size(std::uint64_t size, const std::string& name);
  bool fail(std::string reason);

  ByteStream& stream_;
  std::vector<std::byte> block_ = std::vector<std::byte>(512);
  std::uint64_t header_at_ = 0;
  std::uint64_t data_ = 0;     // unread bytes of the current member
  std::uint64_t padding_ = 0;  // bytes behind the data
  std::uint64_t links_ = 0;
  std::vector<std::string> classes_;
  bool ended_ = false;
  std::optional<Fault> fault_;
};

}  // namespace tundish
