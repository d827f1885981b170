// Parses the part of an HTTP request that the local page needs: the first line and the headers.
#pragma once

#include <string>
#include <string_view>

namespace tundish {

struct HttpRequest {
  std::string path;   // "/snapshot"
  std::string token;  // from the query "?token=..."
  std::string host;   // from the Host header, in lower case
};

enum class HttpParse { complete, more, bad };

inline constexpr std::size_t kMaxRequest = 8192;

// Accepts any bytes. `more`: the headers are incomplete. Only GET requests are valid.
HttpParse parse_request(HttpRequest& out, std::string_view bytes);

// Compares in a time that does not depend on the position of the first difference.
bool same_secret(std::string_view a, std::string_view b);

}  // namespace tundish
