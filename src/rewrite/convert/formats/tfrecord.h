// Writes TFRecord files of tf.train.Example with the usual features of TensorFlow image data sets.
#pragma once

#include "rewrite/convert/target_writer.h"

namespace tundish {

// Features: image/encoded, image/format, image/height, image/width, image/filename,
// image/class/label, image/class/text, and one for each other field. Raw pixels become PNGs.
// Several shards are named TARGET-00000-of-00008, ...
std::unique_ptr<TargetWriter> make_tfrecord_writer(const Conversion& conversion);

}  // namespace tundish
