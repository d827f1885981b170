"""Scripts with a change that must be made by hand, and the reason."""

from tests.boosting.patch_shapes import PLAIN, Shape

LAMBDA = PLAIN.replace("    out = model(x)\n", "    call = lambda: model(x)\n    out = call()\n")
BLOCK = PLAIN.replace(
    "    out = model(x)\n    loss = F.cross_entropy(out, y)\n",
    "    if (out := model(x)).shape[0]: loss = F.cross_entropy(out, y)\n",
)
COMPREHENSION = PLAIN.replace(
    "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)",
    "optimizer = [torch.optim.SGD(m.parameters(), lr=0.1) for m in [model]][0]",
)
GETATTR = PLAIN.replace("torch.optim.SGD(", "getattr(torch.optim, 'SGD')(")
SHARED = PLAIN.replace("    out = model(x)\n", "    x = x + 0; out = model(x)\n")
SHADOWED = PLAIN.replace("losses = []", "losses = []\ntundish = 1")
UNPACKED = PLAIN.replace("DataLoader(data, batch_size=8)", "DataLoader(*[data, 8])").replace(
    "model.parameters(), lr=0.1", "**dict(params=model.parameters()), **dict(lr=0.1)"
)
HELPER = "class Optimizer(torch.optim.SGD):\n    pass\n"
GENERATOR = PLAIN.replace(
    "model.parameters(), lr", "[p for m in [model] for p in m.parameters()], lr"
)
OTHER_SCOPE = PLAIN.replace(
    "model = Net()", "def parts(net):\n    groups = net.parameters()\nmodel = Net()"
).replace(
    "torch.optim.SGD(model.parameters(), lr=0.1)",
    "(lambda groups: torch.optim.SGD(groups, lr=0.1))(model.parameters())",
)
SUBCLASS = PLAIN.replace("loader = ", HELPER + "loader = ").replace(
    "torch.optim.SGD(m", "Optimizer(m"
)
BY_HAND = {
    "lambda": Shape({"t.py": LAMBDA}, (), ("bf16",), {"bf16": "the call is in a lambda"}),
    "block": Shape(
        {"t.py": BLOCK}, (), ("bf16",), {"bf16": "the call is in the first line of a block"}
    ),
    "comprehension": Shape(
        *({"t.py": COMPREHENSION}, (), ("channels_last",)),
        {"channels_last": "the optimizer is constructed in an expression that runs elsewhere"},
    ),
    "list of parameters": Shape(
        *({"t.py": GENERATOR}, (), ("channels_last",)),
        {"channels_last": "the arguments of the optimizer give the model no name"},
    ),
    "lambda with the optimizer": Shape(
        *({"t.py": OTHER_SCOPE}, (), ("compile",)),
        {"compile": "the optimizer is constructed in an expression that runs elsewhere"},
    ),
    "getattr": Shape(
        {"t.py": GETATTR},
        (),
        ("fused",),
        {"fused": "the class of the optimizer is chosen when the script runs"},
    ),
    "semicolon": Shape(
        *({"t.py": SHARED}, (), ("bf16",)),
        {"bf16": "the call shares its line with other statements"},
    ),
    "shadowed name": Shape(
        *({"t.py": SHADOWED}, (), ("accelerate",)),
        {"accelerate": "tundish is the name of something else in this file"},
    ),
    "unpacked arguments": Shape(
        *({"t.py": UNPACKED}, (), ("workers=0", "fused")),
        {
            "workers": "the arguments of the call are unpacked from a sequence",
            "fused": "the arguments of the call are unpacked from several dicts",
        },
    ),
    "subclass": Shape(
        *({"t.py": SUBCLASS}, (), ("fused",)),
        {"fused": "__main__.Optimizer may have no argument `fused`"},
    ),
}
