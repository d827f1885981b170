#include "data/source/formats/python/python_samples.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <thread>

#include "data/source/formats/python/test_messages.h"
#include "data/source/unknown_count.h"
#include "data/source/views/choice.h"

namespace tundish {
namespace {

using Answer = std::function<TestMessage(std::uint64_t number)>;

// A thread at the other end of a socket that answers until the socket is closed or an answer is
// empty.
class Worker {
 public:
  explicit Worker(Answer answer) {
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    program_end_ = ends[0];
    thread_ = std::thread([worker_end = ends[1], answer = std::move(answer)] {
      std::uint64_t number = 0;
      while (::recv(worker_end, &number, sizeof number, MSG_WAITALL) == sizeof number) {
        const TestMessage message = answer(number);
        if (message.bytes().empty()) break;
        for (std::size_t sent = 0; sent < message.bytes().size();) {
          const ssize_t more = ::send(worker_end, message.bytes().data() + sent,
                                      message.bytes().size() - sent, MSG_NOSIGNAL);
          if (more <= 0) break;
          sent += static_cast<std::size_t>(more);
        }
      }
      ::close(worker_end);
    });
  }
  ~Worker() { thread_.join(); }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  int program_end() const { return program_end_; }

 private:
  int program_end_ = -1;
  std::thread thread_;
};

constexpr std::uint64_t kCount = 200;

TestMessage good_answer(std::uint64_t number) {
  if (number == kAskDescription) {
    return test_answer(AnswerKind::description, test_description(kCount).bytes());
  }
  const auto label = static_cast<std::int64_t>(number % 2);
  return test_answer(AnswerKind::sample,
                     test_sample(fmt::format("image {}", number), label).bytes());
}

template <class Call>
ErrorCode code_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode::none;
}

}  // namespace

TEST_CASE("more threads than workers get the samples they ask for, with their labels") {
  const Worker first(good_answer), second(good_answer);
  const auto source = open_python_samples("set", {first.program_end(), second.program_end()});
  CHECK(source->count() == kCount);
  CHECK(source->random_access());
  CHECK_FALSE(source->sizes_known());
  std::atomic<int> wrong = 0;
  {
    std::vector<std::jthread> threads;
    for (std::uint64_t t = 0; t < 5; ++t) {
      threads.emplace_back([&, t] {
        Sample sample;
        for (std::uint64_t i = t; i < kCount; i += 5) {
          source->read(sample, i);
          wrong += sample.fields[0] != bytes_of(fmt::format("image {}", i));
          wrong += source->info(i).label != static_cast<std::int64_t>(i % 2);
        }
      });
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("a filter by label reads the samples whose labels it judges") {
  const Worker worker(good_answer);
  const auto source = open_python_samples("set", {worker.program_end()});
  CHECK_FALSE(source->labels_known());
  CHECK(source->info(0).label == -1);
  const Chosen dogs = choose(source, {.filters = {"label=dog"}});
  CHECK(dogs.source->count() == kCount / 2);
  CHECK(dogs.source->key(0) == source->key(1));
  CHECK_FALSE(dogs.source->labels_known());
  CHECK(choose(source, {.filters = {"label!=1"}}).source->count() == kCount / 2);
}

TEST_CASE("one bad sample leaves the others usable") {
  const Worker worker([](std::uint64_t number) {
    if (number == 3) return test_answer(AnswerKind::raised, bytes_of("KeyError: 3"));
    if (number == 4) return test_answer(AnswerKind::differs, bytes_of("expected text"));
    return good_answer(number);
  });
  const auto source = open_python_samples("set", {worker.program_end()});
  Sample sample;
  try {
    source->read(sample, 3);
    CHECK(false);
  } catch (const SampleError& error) {
    CHECK(error.code() == ErrorCode::sample_raised);
    CHECK(error.where().record == 3);
    CHECK(error.reason() == "KeyError: 3");
  }
  CHECK_THROWS_AS(source->read(sample, 4), SampleError);
  CHECK(code_of([&] { source->read(sample, 5); }) == ErrorCode::none);
}

TEST_CASE("a worker that ends, or sends nonsense, ends every read") {
  const auto read_all = [](const Answer& answer) {
    const Worker worker(answer);
    const auto source = open_python_samples("set", {worker.program_end()});
    Sample sample;
    const ErrorCode code = code_of([&] {
      for (std::uint64_t i = 0; i < 5; ++i) source->read(sample, i);
    });
    CHECK(code_of([&] { source->read(sample, 0); }) == ErrorCode::worker_ended);
    return code;
  };
  CHECK(read_all([](std::uint64_t number) {
          return number == 3 ? TestMessage() : good_answer(number);
        }) == ErrorCode::worker_ended);
  CHECK(read_all([](std::uint64_t number) {
          return number == 3 ? TestMessage().raw(std::string(16, 'x')) : good_answer(number);
        }) == ErrorCode::worker_ended);
}

TEST_CASE("an iterator is scanned to its end; its failure is one of the whole") {
  const auto iterable = [](std::uint64_t number) {
    if (number == kAskDescription) {
      return test_answer(AnswerKind::description, test_iterable().bytes());
    }
    return number == 6 ? test_answer(AnswerKind::end, {}) : good_answer(number);
  };
  const Worker worker(iterable);
  const auto source = open_python_samples("set", {worker.program_end()});
  CHECK_FALSE(count_known(*source));
  Sample sample;
  CHECK(code_of([&] { source->read(sample, 0); }) == ErrorCode::no_random_access);
  std::vector<std::int64_t> labels;
  source->scan([&](std::uint64_t i, Sample&) {
    labels.push_back(source->info(i).label);
    return true;
  });
  CHECK(labels == std::vector<std::int64_t>{0, 1, 0, 1, 0, 1});

  const Worker failing([&](std::uint64_t number) {
    return number == 2 ? test_answer(AnswerKind::failed, bytes_of("OSError")) : iterable(number);
  });
  const auto broken = open_python_samples("set", {failing.program_end()});
  const auto never_bad = [](std::uint64_t, const SampleError&) { return false; };
  CHECK(code_of([&] { broken->scan([](std::uint64_t, Sample&) { return true; }, never_bad); }) ==
        ErrorCode::sample_raised);
}

TEST_CASE("what is no socket is refused") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  CHECK(code_of([&] { open_python_samples("set", {ends[0]}); }) == ErrorCode::argument);
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace tundish
