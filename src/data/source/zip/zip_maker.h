// For tests and fuzzers: makes zip archives with stored members.
#pragma once

#include <zlib.h>

#include <string>
#include <utility>
#include <vector>

namespace tundish {

class ZipMaker {
 public:
  // Adds a member; `packed` is written instead of `bytes` if the method is not 0.
  void add(const std::string& name, const std::string& bytes, int method = 0,
           const std::string& packed = "") {
    const std::string& data = method == 0 ? bytes : packed;
    const auto* from = reinterpret_cast<const Bytef*>(bytes.data());
    const std::string middle = number(20, 2) + number(0, 2) + number(method, 2) + number(0, 4) +
                               number(crc32(0, from, static_cast<uInt>(bytes.size())), 4) +
                               number(data.size(), 4) + number(bytes.size(), 4) +
                               number(name.size(), 2) + number(0, 2);
    directory_ +=
        "PK\x01\x02" + number(20, 2) + middle + number(0, 10) + number(file_.size(), 4) + name;
    file_ += "PK\x03\x04" + middle + name + data;
    ++members_;
  }

  std::string finish() const {
    return file_ + directory_ + std::string("PK\x05\x06") + number(0, 4) + number(members_, 2) +
           number(members_, 2) + number(directory_.size(), 4) + number(file_.size(), 4) +
           number(0, 2);
  }

  // Compresses to raw deflate.
  static std::string deflated(const std::string& bytes) {
    z_stream stream = {};
    deflateInit2(&stream, 9, Z_DEFLATED, -15, 9, Z_DEFAULT_STRATEGY);
    std::string out(deflateBound(&stream, bytes.size()), '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(bytes.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    deflate(&stream, Z_FINISH);
    out.resize(stream.total_out);
    deflateEnd(&stream);
    return out;
  }

 private:
  template <class T>
  static std::string number(T value, int bytes) {
    auto rest = static_cast<std::uint64_t>(value);
    std::string out;
    for (int i = 0; i < bytes; ++i, rest = i < 8 ? rest >> 8 : 0) out += static_cast<char>(rest);
    return out;
  }

  std::string file_, directory_;
  unsigned members_ = 0;
};

}  // namespace tundish
