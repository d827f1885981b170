// The regular files of a tar archive, one after the other: v7, ustar, GNU (long names, large
// sizes) and pax (path, size). Nothing is extracted. Links, folders and devices are passed over;
// so are global pax headers, but for a list of classes (data/source/labels.h). Sparse files
// and multi-volume archives are refused. Concatenated archives are read as one.
//
// Total: any bytes give members or a fault. Header data (long names, pax) are at most 1 MiB each,
// sizes below 2^63, and where the length of the stream is known no member reaches beyond it.
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
  std::string name;          // as stored: raw bytes without zeros, never empty
  std::uint64_t offset = 0;  // of its data in the stream
  std::uint64_t size = 0;
};

class TarReader {
 public:
  explicit TarReader(ByteStream& stream) : stream_(stream) {}

  // The next regular file. False at the end, and after a fault: fault(), whose offset is
  // that of the header. An archive without an end mark is a fault: it was cut short. So is a
  // request to stop (base/interruption.h), with the code `interrupted`.
  bool next(TarMember& out);

  // The data of the member that next() gave, once. The caller has checked its size.
  bool read(std::vector<std::byte>& out);

  const std::optional<Fault>& fault() const { return fault_; }
  std::uint64_t links() const { return links_; }  // passed over so far
  const std::vector<std::string>& classes() const {
    return classes_;
  }  // met so far; the first list

 private:
  struct Header;
  struct Extended {  // what long-name and pax headers give for the next member
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
  std::uint64_t data_ = 0;     // of the current member, not yet read
  std::uint64_t padding_ = 0;  // after them
  std::uint64_t links_ = 0;
  std::vector<std::string> classes_;
  bool ended_ = false;
  std::optional<Fault> fault_;
};

}  // namespace tundish
