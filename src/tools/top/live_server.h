// `tundish top --serve`: one page with live charts, for browsers of this machine only. Bound to
// 127.0.0.1; who does not know the random token gets nothing.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>

#include "tools/top/http_request.h"

namespace tundish {

class LiveServer {
 public:
  // Listens at once; port 0 is any free one. Throws Error(io_read) when the port is taken.
  explicit LiveServer(std::uint16_t port);
  ~LiveServer();
  LiveServer(const LiveServer&) = delete;
  LiveServer& operator=(const LiveServer&) = delete;

  std::uint16_t port() const { return port_; }
  const std::string& token() const { return token_; }
  std::string address() const;  // "http://127.0.0.1:8412/?token=..."

  // Answers whoever asks within `milliseconds`. `snapshot` gives JSON; it is called for a request
  // that may have it. One thread.
  void serve(int milliseconds, const std::function<std::string()>& snapshot);

  // The whole answer to a request, for tests too.
  std::string answer(const HttpRequest& request,
                     const std::function<std::string()>& snapshot) const;

 private:
  struct Connection {
    int descriptor = -1;
    std::string in, out;
    std::uint64_t end_ns = 0;  // when it is given up
  };
  void accept_all();
  bool advance(Connection& connection, const std::function<std::string()>& snapshot) const;

  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::string token_;
  std::deque<Connection> connections_;
};

}  // namespace tundish
