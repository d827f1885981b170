"""Scripts that train on a folder of images, with a training and a validation loader."""

from tests.boosting.patch_shapes import HEAD, Shape

IMAGE_HEAD = HEAD.replace(
    "data = Tens", "import torchvision\nfrom torchvision import transforms as T\n\nunused = Tens"
) + (
    "photos = torchvision.datasets.ImageFolder('photos', T.Compose([T.Resize(16), T.ToTensor()]))\n"
)
IMAGE_LOOP = """
model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten(), nn.Linear(784, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for epoch in range(2):
    for x, y in train_loader:
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    with torch.no_grad():
        for x, y in val_loader:
            model(x)
"""
TWO_ON_A_LINE = "train_loader, val_loader = DataLoader(photos, 4), DataLoader(photos, 8)\n"
MAKER = """\
from torch.utils.data import DataLoader

def make(photos):
    return [DataLoader(photos, 4), DataLoader(photos, 8)]
"""
BY_LIBRARY = """\
import sys; sys.path.insert(0, "vendor/site-packages")
from made_by_library import make
train_loader, val_loader = make(photos)
"""
IN_DICT = """\
loaders = {name: DataLoader(photos, batch_size=4) for name in ("train", "val")}
train_loader, val_loader = loaders["train"], loaders["val"]
"""
IMAGES = {
    "two constructors on a line": Shape(
        {"train.py": IMAGE_HEAD + TWO_ON_A_LINE + IMAGE_LOOP},
        ("= tundish.accelerate(DataLoader(photos, 4)), DataLoader(photos, 8)",),
    ),
    "library": Shape(
        {
            "train.py": IMAGE_HEAD + BY_LIBRARY + IMAGE_LOOP,
            "vendor/site-packages/made_by_library.py": MAKER,
        },
        ("make(photos)\ntrain_loader = tundish.accelerate(train_loader)\n",),
    ),
    "dict": Shape(
        {"train.py": IMAGE_HEAD + IN_DICT + IMAGE_LOOP},
        ("{name: tundish.accelerate(DataLoader(photos, batch_size=4)) for name",),
    ),
}
