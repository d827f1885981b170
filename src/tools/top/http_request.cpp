#include "tools/top/http_request.h"

#include <algorithm>
#include <cctype>

namespace tundish {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

std::string_view without_spaces(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// Parses "GET /path?token=x HTTP/1.1".
bool parse_first_line(HttpRequest& out, std::string_view line) {
  if (!line.starts_with("GET /")) return false;
  const std::size_t end = line.find(' ', 4);
  if (end == line.npos || !line.substr(end + 1).starts_with("HTTP/1.")) return false;
  const std::string_view target = line.substr(4, end - 4);
  const bool plain =
      std::all_of(target.begin(), target.end(), [](char c) { return c > 0x20 && c < 0x7f; });
  if (!plain) return false;
  const std::size_t question = target.find('?');
  out.path = target.substr(0, question);
  std::string_view query = question == target.npos ? "" : target.substr(question + 1);
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    if (pair.starts_with("token=")) out.token = pair.substr(6);
    query.remove_prefix(std::min(query.size(), pair.size() + 1));
  }
  return true;
}

}  // namespace

HttpParse parse_request(HttpRequest& out, std::string_view bytes) {
  const std::size_t end = bytes.substr(0, kMaxRequest).find("\r\n\r\n");
  if (end == bytes.npos) return bytes.size() >= kMaxRequest ? HttpParse::bad : HttpParse::more;
  out = {};
  std::string_view head = bytes.substr(0, end);
  for (bool first = true; !head.empty(); first = false) {
    const std::size_t stop = std::min(head.find("\r\n"), head.size());
    const std::string_view line = head.substr(0, stop);
    head.remove_prefix(std::min(head.size(), stop + 2));
    if (first) {
      if (!parse_first_line(out, line)) return HttpParse::bad;
    } else if (lower(line.substr(0, 5)) == "host:") {
      out.host = lower(without_spaces(line.substr(5)));
    }
  }
  return out.path.empty() ? HttpParse::bad : HttpParse::complete;
}

bool same_secret(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference |=
        static_cast<unsigned char>(a[i]) ^ static_cast<unsigned>(static_cast<unsigned char>(b[i]));
  }
  return difference == 0;
}

}  // namespace tundish
