"""Writes the files of this folder; needs tensorflow. Run in this folder: python make.py

The files in the repository were written by tensorflow 2.21.0.
"""

import io
import json

import numpy as np
import tensorflow as tf
from PIL import Image

COUNT = 6


def feature(value):
    if isinstance(value, bytes):
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=[value]))
    value = np.asarray(value).ravel()
    if value.dtype.kind == "f":
        return tf.train.Feature(float_list=tf.train.FloatList(value=value.tolist()))
    return tf.train.Feature(int64_list=tf.train.Int64List(value=value.tolist()))


def image(number):
    pixels = np.random.default_rng(number).integers(0, 256, (7, 5 + number, 3), np.uint8)
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "PNG")
    return out.getvalue(), pixels


def example(number):
    return tf.train.Example(
        features=tf.train.Features(
            feature={
                "image/encoded": feature(image(number)[0]),
                "image/class/label": feature([number * 3]),
                "image/filename": feature(f"näme {number}".encode()),
                "box": feature([0.5, number / 7, -1.0, 1e30]),
                "ids": feature(list(range(-1, number))),
                "hash": feature(bytes([255, number])),
            }
        )
    )


def sequence(number):
    steps = [feature([float(number), float(step)]) for step in range(3)]
    return tf.train.SequenceExample(
        context=tf.train.Features(
            feature={"img": feature(image(number)[0]), "label": feature([number])}
        ),
        feature_lists=tf.train.FeatureLists(
            feature_list={"track": tf.train.FeatureList(feature=steps)}
        ),
    )


def write(name, messages, compression=""):
    with tf.io.TFRecordWriter(name, tf.io.TFRecordOptions(compression_type=compression)) as out:
        for message in messages:
            out.write(message.SerializeToString(deterministic=True))


write("examples.tfrecord", [example(n) for n in range(COUNT)])
write("examples.tfrecord.gz", [example(n) for n in range(COUNT)], "GZIP")
write("sequences.tfrecord", [sequence(n) for n in range(COUNT)])
expected = [
    {
        "label": number * 3,
        "pixels": image(number)[1].tolist(),
        "image/filename": f"näme {number}",
        "box": np.float32([0.5, number / 7, -1.0, 1e30]).tolist(),
        "ids": list(range(-1, number)),
        "hash": [255, number],
        "track": [[number, 0], [number, 1], [number, 2]],
    }
    for number in range(COUNT)
]
with open("expected.json", "w") as out:
    json.dump(expected, out, separators=(",", ":"))
