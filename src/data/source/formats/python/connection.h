// A socket to a Python process (or thread) that answers with samples of a dataset.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/source/formats/python/message.h"

namespace tundish {

// One thread at a time. Owns the descriptor.
class Connection {
 public:
  // `name`: name of the dataset, for messages. Throws Error(argument) if it is not a socket.
  Connection(int socket, std::string name);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Replaces `payload` by the payload of the answer. Throws Error: worker_ended at the end of the
  // connection and for an invalid answer; interrupted if this thread is asked to stop. After an
  // error, the connection is unusable.
  AnswerKind ask(std::vector<std::byte>& payload, std::uint64_t number);

 private:
  void send(const std::byte* bytes, std::size_t count);
  void receive(std::byte* bytes, std::size_t count);
  void wait(short events);
  [[noreturn]] void fail(const Fault& fault) const;

  int socket_;
  std::string name_;
};

}  // namespace tundish
