#include "data/source/formats/csv.h"

#include <fmt/format.h>

namespace tundish {
namespace {

constexpr std::size_t kMaxCellBytes = 16 << 20;

}  // namespace

CsvReader::CsvReader(std::string_view text, char separator, std::size_t max_cells)
    : text_(text), separator_(separator), max_cells_(max_cells) {
  if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;
  if (text_.starts_with("\xff\xfe") || text_.starts_with("\xfe\xff")) {
    fail("it is UTF-16; save it as UTF-8");
  }
}

bool CsvReader::fail(std::string reason) {
  fault_ = Fault{ErrorCode::csv_damaged, std::move(reason), at_};
  return false;
}

bool CsvReader::fail_too_long() {
  return fail(fmt::format("line {}: a cell has over {} bytes", line_, with_commas(kMaxCellBytes)));
}

bool CsvReader::at_line_end() const {
  return text_[at_] == '\n' ||
         (text_[at_] == '\r' && at_ + 1 < text_.size() && text_[at_ + 1] == '\n');
}

bool CsvReader::next(CsvRow& row) {
  if (fault_) return false;
  while (at_ < text_.size() && at_line_end()) {  // skip blank lines
    at_ += text_[at_] == '\r' ? 2 : 1;
    ++line_;
  }
  if (at_ == text_.size()) return false;
  row.line = line_;
  row.offset = at_;
  for (std::size_t n = 0;; ++n) {
    if (n == max_cells_) {
      return fail(fmt::format("line {}: more than {} columns", line_, max_cells_));
    }
    if (row.cells.size() == n) row.cells.emplace_back();
    if (!read_cell(row.cells[n])) return false;
    if (at_ == text_.size() || text_[at_] != separator_) {
      row.cells.resize(n + 1);
      break;
    }
    ++at_;
  }
  if (at_ < text_.size()) {
    at_ += text_[at_] == '\r' ? 2 : 1;
    ++line_;
  }
  return true;
}

// Stops at a separator, at a line end or at the end of the text.
bool CsvReader::read_cell(std::string& cell) {
  cell.clear();
  if (at_ == text_.size() || text_[at_] != '"') {
    const std::size_t from = at_;
    while (at_ < text_.size() && text_[at_] != separator_ && !at_line_end()) {
      if (++at_ - from > kMaxCellBytes) return fail_too_long();
    }
    cell = text_.substr(from, at_ - from);
    return true;
  }
  const std::uint64_t first_line = line_;
  const std::size_t opening = at_++;
  while (true) {
    const std::size_t quote = text_.find('"', at_);
    if (quote == std::string_view::npos) {
      at_ = opening;
      return fail(fmt::format("line {}: a quote opens here and does not end", first_line));
    }
    if (quote - at_ > kMaxCellBytes - cell.size()) return fail_too_long();
    for (; at_ < quote; ++at_) {
      cell += text_[at_];
      if (text_[at_] == '\n') ++line_;
    }
    ++at_;
    if (at_ < text_.size() && text_[at_] == '"') {
      if (cell.size() == kMaxCellBytes) return fail_too_long();
      cell += '"';
      ++at_;
      continue;
    }
    if (at_ < text_.size() && text_[at_] != separator_ && !at_line_end()) {
      return fail(fmt::format("line {}: text follows a closing quote", line_));
    }
    return true;
  }
}

}  // namespace tundish
