#include "tools/top/live_server.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "tools/top/live_page.h"

namespace tundish {
namespace {

constexpr std::size_t kMaxConnections = 32;
constexpr std::uint64_t kPatienceNs = 5'000'000'000;

std::string random_token() {
  std::array<unsigned char, 16> bytes{};
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = ::getrandom(bytes.data() + done, bytes.size() - done, 0);
    if (got < 0 && errno != EINTR) throw_errno("the system's random numbers", "reading", false);
    if (got > 0) done += static_cast<std::size_t>(got);
  }
  std::string out;
  for (const unsigned char byte : bytes) out += fmt::format("{:02x}", byte);
  return out;
}

std::string response(const char* status, const char* type, std::string_view body) {
  return fmt::format(
      "HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n"
      "Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nX-Content-Type-Options: "
      "nosniff\r\n"
      "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; script-src "
      "'unsafe-inline'; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'\r\n\r\n{}",
      status, type, body.size(), body);
}

}  // namespace

LiveServer::LiveServer(std::uint16_t port) : token_(random_token()) {
  const std::string name = fmt::format("127.0.0.1:{}", port);
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener_ < 0) throw_errno(name, "opening", false);
  const int yes = 1;
  ::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* any = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener_, any, length) != 0 || ::listen(listener_, 16) != 0 ||
      ::getsockname(listener_, any, &length) != 0) {
    const int fault = errno;
    ::close(listener_);
    if (fault == EADDRINUSE) {
      throw Error(ErrorCode::argument, {.file = name},
                  "another program listens on this port; take another --port, or leave it out: the "
                  "system then chooses a free one");
    }
    errno = fault;
    throw_errno(name, "listening", false);
  }
  port_ = ntohs(address.sin_port);
}

LiveServer::~LiveServer() {
  for (const Connection& connection : connections_) ::close(connection.descriptor);
  ::close(listener_);
}

std::string LiveServer::address() const {
  return fmt::format("http://127.0.0.1:{}/?token={}", port_, token_);
}

std::string LiveServer::answer(const HttpRequest& request,
                               const std::function<std::string()>& snapshot) const {
  // Another site may point its own host name to this server, so the Host header must be ours.
  const bool here = request.host == fmt::format("127.0.0.1:{}", port_) ||
                    request.host == fmt::format("localhost:{}", port_);
  if (!here || !same_secret(request.token, token_)) {
    return response("403 Forbidden", "text/plain",
                    "the token of the address is missing or wrong\n");
  }
  if (request.path == "/") return response("200 OK", "text/html; charset=utf-8", kLivePage);
  if (request.path == "/snapshot") return response("200 OK", "application/json", snapshot());
  return response("404 Not Found", "text/plain", "there is / and /snapshot\n");
}

void LiveServer::accept_all() {
  while (connections_.size() < kMaxConnections) {
    const int descriptor = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (descriptor < 0) return;
    connections_.push_back(
        {.descriptor = descriptor, .in = {}, .out = {}, .end_ns = now_ns() + kPatienceNs});
  }
}

// Reads and writes as much as possible without blocking; false if the connection is done.
bool LiveServer::advance(Connection& connection,
                         const std::function<std::string()>& snapshot) const {
  if (now_ns() > connection.end_ns) return false;
  if (connection.out.empty()) {
    std::array<char, 2048> block;
    const ssize_t got = ::recv(connection.descriptor, block.data(), block.size(), 0);
    if (got == 0) return false;
    if (got < 0) return errno == EAGAIN || errno == EINTR;
    connection.in.append(block.data(), static_cast<std::size_t>(got));
    HttpRequest request;
    const HttpParse parsed = parse_request(request, connection.in);
    if (parsed == HttpParse::more) return true;
    connection.out = parsed == HttpParse::complete
                         ? answer(request, snapshot)
                         : response("400 Bad Request", "text/plain", "only GET is answered\n");
  }
  const ssize_t sent =
      ::send(connection.descriptor, connection.out.data(), connection.out.size(), MSG_NOSIGNAL);
  if (sent < 0) return errno == EAGAIN || errno == EINTR;
  connection.out.erase(0, static_cast<std::size_t>(sent));
  return !connection.out.empty();
}

void LiveServer::serve(int milliseconds, const std::function<std::string()>& snapshot) {
  const std::uint64_t end = now_ns() + static_cast<std::uint64_t>(milliseconds) * 1'000'000;
  for (std::uint64_t now = now_ns(); now < end; now = now_ns()) {
    std::vector<pollfd> polled = {{listener_, POLLIN, 0}};
    for (const Connection& one : connections_) {
      polled.push_back({one.descriptor, static_cast<short>(one.out.empty() ? POLLIN : POLLOUT), 0});
    }
    // While all places are taken, the listener stays readable and poll() would return at once.
    if (connections_.size() == kMaxConnections) polled[0].fd = -1;
    const int ready =
        ::poll(polled.data(), polled.size(), static_cast<int>((end - now) / 1'000'000) + 1);
    if (ready < 0) return;  // a signal: the caller checks whether to stop
    for (std::size_t i = 0; i < connections_.size(); ++i) {
      Connection& one = connections_[i];
      const bool late = now_ns() > one.end_ns;
      if (late || (polled[i + 1].revents != 0 && !advance(one, snapshot))) {
        ::close(one.descriptor);
        one.descriptor = -1;
      }
    }
    std::erase_if(connections_, [](const Connection& one) { return one.descriptor < 0; });
    accept_all();
  }
}

}  // namespace tundish
