// TFRecord files of tf.train.Example, with the features that TensorFlow's image data sets have.
#pragma once

#include "rewrite/convert/target_writer.h"

namespace tundish {

// image/encoded, image/format, image/height, image/width, image/filename, image/class/label,
// image/class/text, and a feature for each other field. Raw pixels become PNGs. Several shards are
// TARGET-00000-of-00008, ...
std::unique_ptr<TargetWriter> make_tfrecord_writer(const Conversion& conversion);

}  // namespace tundish
