// A dataset on storage with a latency per read and a limited number of parallel reads.
#pragma once

#include <chrono>
#include <memory>
#include <semaphore>
#include <string>
#include <thread>

#include "data/source/source.h"

class SlowSource : public tundish::Source {
 public:
  SlowSource(std::shared_ptr<const tundish::Source> source, double latency_s, int at_once)
      : source_(std::move(source)), latency_(latency_s), free_(at_once) {}

  std::uint64_t count() const override { return source_->count(); }
  const tundish::Schema& schema() const override { return source_->schema(); }
  tundish::SampleInfo info(std::uint64_t i) const override { return source_->info(i); }
  std::string key(std::uint64_t i) const override { return source_->key(i); }
  std::string path() const override { return source_->path(); }
  std::uint64_t bytes(std::uint64_t i) const override { return source_->bytes(i); }
  std::string fingerprint() const override { return source_->fingerprint(); }
  const tundish::lanes::Tables* tables(std::uint64_t i) const override {
    return source_->tables(i);
  }
  void read(tundish::Sample& out, std::uint64_t i, tundish::FieldSet fields) const override {
    if (latency_.count() > 0) {
      free_.acquire();
      std::this_thread::sleep_for(latency_);
      free_.release();
    }
    source_->read(out, i, fields);
  }

 private:
  std::shared_ptr<const tundish::Source> source_;
  std::chrono::duration<double> latency_;
  mutable std::counting_semaphore<1024> free_;
};
