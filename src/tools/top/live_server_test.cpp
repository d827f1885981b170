#include "tools/top/live_server.h"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "base/error.h"
#include "base/testing.h"
#include "tools/top/live_page.h"

namespace tundish {
namespace {

const auto kSnapshot = [] { return std::string("{\"a\":1}"); };

TEST_CASE("a request is parsed, in pieces and of any bytes") {
  const std::string text =
      "GET /snapshot?x=1&token=abc HTTP/1.1\r\nHost: LocalHost:80 \r\nA: b\r\n\r\n";
  HttpRequest request;
  for (std::size_t bytes = 0; bytes < text.size(); ++bytes) {
    CHECK(parse_request(request, text.substr(0, bytes)) == HttpParse::more);
  }
  CHECK(parse_request(request, text) == HttpParse::complete);
  CHECK(request.path == "/snapshot");
  CHECK(request.token == "abc");
  CHECK(request.host == "localhost:80");
  for (const char* bad : {"POST / HTTP/1.1\r\n\r\n", "\r\n\r\n", "GET\r\n\r\n", "GET / \r\n\r\n",
                          "GET /\x01 HTTP/1.1\r\n\r\n", "GET x HTTP/1.1\r\n\r\n"}) {
    CHECK(parse_request(request, bad) == HttpParse::bad);
  }
  CHECK(parse_request(request, std::string(kMaxRequest, 'x')) == HttpParse::bad);
  Random random({.seed = test_seed()}, 1);
  for (int i = 0; i < 2000; ++i) {
    std::string changed = text;
    for (int n = between(random, 1, 6); n > 0; --n) {
      changed[random.below(changed.size())] = static_cast<char>(random.below(256));
    }
    if (parse_request(request, changed) == HttpParse::complete) CHECK(request.path[0] == '/');
  }
  CHECK(same_secret("abc", "abc"));
  CHECK_FALSE(same_secret("abc", "abd"));
  CHECK_FALSE(same_secret("abc", "ab"));
}

TEST_CASE("a port that is in use is named as such") {
  const LiveServer server(0);
  try {
    const LiveServer second(server.port());
    FAIL("the port is taken");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::argument);
    CHECK(error.where().file == "127.0.0.1:" + std::to_string(server.port()));
    CHECK(error.reason().find("another --port") != std::string::npos);
  }
}

TEST_CASE("only those who know the token and ask this machine by its own name get an answer") {
  const LiveServer server(0);
  CHECK(server.token().size() == 32);
  CHECK(LiveServer(0).token() != server.token());
  const std::string host = "127.0.0.1:" + std::to_string(server.port());
  const auto status = [&](HttpRequest request) {
    return server.answer(request, kSnapshot).substr(9, 3);
  };
  CHECK(status({.path = "/", .token = server.token(), .host = host}) == "200");
  CHECK(status({.path = "/snapshot", .token = server.token(), .host = host}) == "200");
  CHECK(status({.path = "/other", .token = server.token(), .host = host}) == "404");
  CHECK(status({.path = "/snapshot", .token = "", .host = host}) == "403");
  CHECK(status({.path = "/snapshot", .token = std::string(32, '0'), .host = host}) == "403");
  CHECK(status({.path = "/", .token = server.token(), .host = "evil.example:80"}) == "403");
  CHECK(status({.path = "/", .token = server.token(), .host = ""}) == "403");
  CHECK_THROWS_AS(LiveServer(server.port()), Error);
}

// Returns the server's response to a client that writes these bytes.
std::string answer_to(const LiveServer& server, const std::string& bytes) {
  const int client = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(server.port());
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  REQUIRE(::connect(client, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  REQUIRE(::send(client, bytes.data(), bytes.size(), MSG_NOSIGNAL) == ssize_t(bytes.size()));
  std::string out;
  char block[4096];
  for (ssize_t got; (got = ::recv(client, block, sizeof block, 0)) > 0;) {
    out.append(block, static_cast<std::size_t>(got));
  }
  ::close(client);
  return out;
}

TEST_CASE("the page and the figures come over the socket, and other bytes do no harm") {
  LiveServer server(0);
  std::atomic<bool> stop = false;
  std::thread thread([&] {
    while (!stop) server.serve(20, kSnapshot);
  });
  const std::string host = "Host: 127.0.0.1:" + std::to_string(server.port()) + "\r\n\r\n";
  const std::string page =
      answer_to(server, "GET /?token=" + server.token() + " HTTP/1.1\r\n" + host);
  CHECK(page.ends_with(kLivePage));
  CHECK(page.find("Content-Security-Policy: default-src 'none'") != page.npos);
  CHECK(answer_to(server, "GET /snapshot?token=" + server.token() + " HTTP/1.1\r\n" + host)
            .ends_with("\r\n\r\n{\"a\":1}"));
  CHECK(answer_to(server, "\x16\x03\x01 TLS\r\n\r\n").starts_with("HTTP/1.1 400"));
  CHECK(answer_to(server, "GET / HTTP/1.1\r\n" + host).starts_with("HTTP/1.1 403"));
  stop = true;
  thread.join();
}

TEST_CASE("the page has nothing from elsewhere") {
  CHECK(kLivePage.find("http://www.w3.org/2000/svg") != kLivePage.npos);  // a namespace, not a link
  for (const char* part : {"https://", "src=", "innerHTML", "@import", "url("}) {
    CHECK_MESSAGE(kLivePage.find(part) == kLivePage.npos, part);
  }
}

}  // namespace
}  // namespace tundish
