#include "rewrite/convert/formats/caffe_datum_message.h"

#include "rewrite/convert/formats/protobuf.h"

namespace tundish {

std::string datum_bytes(const DatumMessage& datum) {
  std::string out;
  if (datum.channels > 0) put_number(out, 1, datum.channels);
  if (datum.height > 0) put_number(out, 2, datum.height);
  if (datum.width > 0) put_number(out, 3, datum.width);
  if (datum.floats.empty()) put_bytes(out, 4, datum.data);
  if (datum.label != -1) put_number(out, 5, static_cast<std::uint64_t>(datum.label));
  if (!datum.floats.empty()) put_bytes(out, 6, datum.floats);
  if (datum.encoded) put_number(out, 7, 1);
  return out;
}

}  // namespace tundish
