// Writes an LMDB data file with one entry per sample: Caffe's Datum, or the image alone.
#pragma once

#include "rewrite/convert/target_writer.h"

namespace tundish {

// Writes TARGET/data.mdb. Keys are "00000012_NAME", like those written by Caffe's tools, so that
// samples keep their order. With labels, values are Datums; otherwise they are image files. Raw
// pixels are Datums with the channels first. Fields other than image and label are omitted.
std::unique_ptr<TargetWriter> make_lmdb_writer(const Conversion& conversion);

}  // namespace tundish
