"""Writes the files of this folder with torch.save; needs torch and numpy; not run in CI."""

from pathlib import Path

import numpy as np
import torch

HERE = Path(__file__).parent


def main():
    images = torch.arange(5 * 6 * 7 * 3, dtype=torch.int32).reshape(5, 6, 7, 3).to(torch.uint8)
    labels = torch.tensor([3, 1, 4, 1, 5])
    scores = torch.arange(10, dtype=torch.float32).reshape(5, 2)
    np.savez(HERE / "expected.npz", images=images, labels=labels, scores=scores)
    named = {"images": images, "labels": labels, "scores": scores}
    pair = (images, labels)
    rows = [(image.clone(), int(label)) for image, label in zip(images, labels, strict=True)]
    # A view whose strides differ from the contiguous order.
    turned = {
        "images": images.permute(0, 3, 1, 2).contiguous().permute(0, 2, 3, 1),
        "labels": labels,
    }
    arrays = {"images": images.numpy(), "labels": labels.numpy()}
    for name, value in {"named": named, "pair": pair, "rows": rows, "turned": turned}.items():
        torch.save(value, HERE / f"{name}.pth")
        torch.save(value, HERE / f"{name}-legacy.pth", _use_new_zipfile_serialization=False)
    torch.save(arrays, HERE / "arrays.pth")
    torch.save(arrays, HERE / "arrays-5.pth", pickle_protocol=5)
    torch.save(
        named, HERE / "named-legacy-4.pth", pickle_protocol=4, _use_new_zipfile_serialization=False
    )
    torch.save(
        {"images": images.to(torch.uint16)[..., 0], "y": labels.to(torch.uint32)},
        HERE / "untyped.pth",
    )


if __name__ == "__main__":
    main()
