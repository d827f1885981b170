// The first line and the headers of an HTTP request, as far as the local page needs them.
#pragma once

#include <string>
#include <string_view>

namespace tundish {

struct HttpRequest {
  std::string path;   // "/snapshot"
  std::string token;  // of the query: "?token=..."
  std::string host;   // of the header, in small letters
};

enum class HttpParse { complete, more, bad };

inline constexpr std::size_t kMaxRequest = 8192;

// Any bytes. `more`: the end of the headers has not come yet. Only GET is good.
HttpParse parse_request(HttpRequest& out, std::string_view bytes);

// In a time that does not depend on where the two differ.
bool same_secret(std::string_view a, std::string_view b);

}  // namespace tundish
