"""Prints the digest of the images and labels in a folder of MDS shards, in order."""

import hashlib
import json
import sys

from streaming import LocalDataset

data = LocalDataset(sys.argv[1])
digest = hashlib.sha256()
for number in range(len(data)):
    sample = data[number]
    digest.update(f"{sample['label']} {len(sample['image'])} ".encode() + sample["image"])
print(json.dumps({"count": len(data), "digest": digest.hexdigest()}))
