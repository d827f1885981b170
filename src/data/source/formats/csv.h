// Rows of a CSV or TSV text according to RFC 4180. Inside double quotes, a doubled quote is one
// quote, and separators and line ends are plain characters. Lines end in LF or CRLF. Blank lines
// and a UTF-8 mark at the start are skipped. A quote inside a cell that does not begin with a quote
// is a plain character.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace tundish {

struct CsvRow {
  std::uint64_t line = 0;    // 1, 2, ...: line where the row begins
  std::uint64_t offset = 0;  // offset of the first byte
  std::vector<std::string> cells;
};

class CsvReader {
 public:
  // Keeps a view of the text. A row of more than max_cells cells is a fault.
  CsvReader(std::string_view text, char separator, std::size_t max_cells);

  // Reads the next row. Returns false at the end and after a fault: see fault().
  bool next(CsvRow& row);
  const std::optional<Fault>& fault() const { return fault_; }

 private:
  bool read_cell(std::string& cell);
  bool fail(std::string reason);
  bool fail_too_long();
  bool at_line_end() const;

  std::string_view text_;
  char separator_;
  std::size_t max_cells_;
  std::size_t at_ = 0;
  std::uint64_t line_ = 1;
  std::optional<Fault> fault_;
};

}  // namespace tundish
