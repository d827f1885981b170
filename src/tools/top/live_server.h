// `tundish top --serve`: one page with live charts, for browsers on this machine only. Bound to
// 127.0.0.1; requests without the random token get no data.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>

#include "tools/top/http_request.h"

namespace tundish {

class LiveServer {
 public:
  // Listens immediately; port 0 picks any free port. Throws Error(io_read) if the port is taken.
  explicit LiveServer(std::uint16_t port);
  ~LiveServer();
  LiveServer(const LiveServer&) = delete;
  LiveServer& operator=(const LiveServer&) = delete;

  std::uint16_t port() const { return port_; }
  const std::string& token() const { return token_; }
  std::string address() const;  // "http://127.0.0.1:8412/?token=..."

  // Serves requests for `milliseconds`. `snapshot` returns JSON and is called only if the request
  // has a valid token. Not thread-safe.
  void serve(int milliseconds, const std::function<std::string()>& snapshot);

  // Returns the complete response to a request; public for tests.
  std::string answer(const HttpRequest& request,
                     const std::function<std::string()>& snapshot) const;

 private:
  struct Connection {
    int descriptor = -1;
    std::string in, out;
    std::uint64_t end_ns = 0;  // deadline; the connection is dropped afterwards
  };
  void accept_all();
  bool advance(Connection& connection, const std::function<std::string()>& snapshot) const;

  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::string token_;
  std::deque<Connection> connections_;
};

}  // namespace tundish
