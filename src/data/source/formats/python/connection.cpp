#include "data/source/formats/python/connection.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/interruption.h"

namespace tundish {
namespace {

constexpr int kPollMilliseconds = 100;  // interval of polling for a stop request

}  // namespace

Connection::Connection(int socket, std::string name) : socket_(socket), name_(std::move(name)) {
  struct stat status{};
  if (::fstat(socket, &status) != 0 || !S_ISSOCK(status.st_mode)) {
    throw Error(ErrorCode::argument, {.file = name_}, "a connection to Python is no socket");
  }
  ::fcntl(socket, F_SETFD, FD_CLOEXEC);
}

Connection::~Connection() { ::close(socket_); }

void Connection::fail(const Fault& fault) const {
  throw Error(fault.code, {.file = name_}, fault.reason);
}

void Connection::wait(short events) {
  for (;;) {
    check_stop(name_);
    pollfd ready{socket_, events, 0};
    const int count = ::poll(&ready, 1, kPollMilliseconds);
    if (count > 0) return;
    if (count < 0 && errno != EINTR) fail({ErrorCode::worker_ended, ::strerror(errno), 0});
  }
}

void Connection::send(const std::byte* bytes, std::size_t count) {
  while (count > 0) {
    wait(POLLOUT);
    const ssize_t sent = ::send(socket_, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (sent < 0) fail({ErrorCode::worker_ended, "", 0});
    bytes += sent;
    count -= static_cast<std::size_t>(sent);
  }
}

void Connection::receive(std::byte* bytes, std::size_t count) {
  while (count > 0) {
    wait(POLLIN);
    const ssize_t got = ::recv(socket_, bytes, count, MSG_DONTWAIT);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) fail({ErrorCode::worker_ended, "", 0});
    bytes += got;
    count -= static_cast<std::size_t>(got);
  }
}

AnswerKind Connection::ask(std::vector<std::byte>& payload, std::uint64_t number) {
  std::array<std::byte, sizeof number> question;
  store(question.data(), number);
  send(question.data(), question.size());
  std::array<std::byte, kAnswerHeadBytes> first;
  receive(first.data(), first.size());
  AnswerHead head;
  if (const auto fault = parse_answer_head(head, first)) fail(*fault);
  payload.resize(head.payload_bytes);
  receive(payload.data(), payload.size());
  return head.kind;
}

}  // namespace tundish
