// An LMDB data file with one entry per sample: Caffe's Datum, or the image alone.
#pragma once

#include "rewrite/convert/target_writer.h"

namespace tundish {

// TARGET/data.mdb. Keys are "00000012_NAME", as Caffe's tools write them, so that the order of the
// samples is kept. Where there are labels, values are Datums; otherwise they are image files. Raw
// pixels are Datums with the channels first. Fields beside image and label are left out.
std::unique_ptr<TargetWriter> make_lmdb_writer(const Conversion& conversion);

}  // namespace tundish
