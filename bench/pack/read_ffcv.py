"""Prints the number and sizes of the images in an FFCV file. Its pixels differ, as they are re-encoded."""

import json
import sys

from ffcv.reader import Reader

reader = Reader(sys.argv[1])
images = reader.metadata["f0"]
sizes = sorted(zip(images["height"].tolist(), images["width"].tolist(), strict=True))
print(json.dumps({"count": int(reader.num_samples), "sizes": sizes}))
