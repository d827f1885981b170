// The writers of all formats, one source each; target_formats.cpp lists them.
#pragma once

#include "rewrite/convert/target_writer.h"

namespace tundish {

// Writes a folder of files, byte for byte: the target of `tundish unpack`.
// Files appear one by one. Existing files with the same bytes are kept, so that an interrupted
// conversion can be repeated. A file with other bytes is replaced only with conversion.replace;
// otherwise add() throws Error(output_exists).
std::unique_ptr<TargetWriter> make_folder_writer(const Conversion& conversion);

// Writes a .tar archive for WebDataset: files of one sample share one name up to the first dot and
// are adjacent.
// NAME.jpg is the image, NAME.cls the label's number, NAME.FIELD other fields; see
// rewrite/convert/sample_files.h. A name that has further dots, or that is already used, is
// changed: docs/pack.md.
std::unique_ptr<TargetWriter> make_tar_writer(const Conversion& conversion);

// Writes TFRecord files of tf.train.Example with the usual features of TensorFlow image datasets.
// Features: image/encoded, image/format, image/height, image/width, image/filename,
// image/class/label, image/class/text, and one for each other field. Raw pixels become PNGs.
// Several shards are named TARGET-00000-of-00008, ...
std::unique_ptr<TargetWriter> make_tfrecord_writer(const Conversion& conversion);

// Writes an LMDB data file, TARGET/data.mdb, with one entry per sample: Caffe's Datum, or the image
// alone. Keys are "00000012_NAME", like those written by Caffe's tools, so that
// samples keep their order. With labels, values are Datums; otherwise they are image files. Raw
// pixels are Datums with the channels first. Fields other than image and label are omitted.
std::unique_ptr<TargetWriter> make_lmdb_writer(const Conversion& conversion);

// Writes an HDF5 file: a dataset for each field, one entry per sample.
// Datasets: image, label, one for each other field, key, and classes (their names). Fields of one
// shape are arrays. Encoded images, bytes and arrays without a common shape (as .npy files) are
// variable-length byte strings; texts are strings. Throws Error(format_not_built) without libhdf5.
std::unique_ptr<TargetWriter> make_hdf5_writer(const Conversion& conversion);

// Writes a folder of .npy files: image.npy, label.npy and one per other field, an entry per sample.
// All samples must have the shape of the first; add() throws Error(argument) for other shapes.
// Decodes encoded images to (H, W, 3) of uint8. Omits fields of text and bytes.
std::unique_ptr<TargetWriter> make_npy_writer(const Conversion& conversion);

// Returns the head of a .npy file, padded with spaces to `bytes`, so that it can be rewritten with
// another number of samples. Throws std::logic_error if `bytes` is too small.
std::string padded_npy_head(const ArrayType& type, std::size_t bytes);

}  // namespace tundish
