"""Infers what calls to torch and related libraries return: tensors, models, optimizers, loaders."""

from __future__ import annotations

import ast
import sys
from typing import TYPE_CHECKING

from .call_arguments import argument
from .names import written
from .value import NUMBER, UNKNOWN, Value

if TYPE_CHECKING:
    from .script import Script

MODULES = {"torch.nn.Module", "lightning.pytorch.LightningModule", "torch.nn.Sequential"}
MODEL_NAMES = {"model", "net", "network", "ddp_model", "encoder", "decoder", "backbone", "teacher"}
MODEL_NAMES |= {"student", "generator", "discriminator", "netg", "netd"}
OPTIMIZER_NAMES = {"optimizer", "optim", "opt", "optimiser"}
CRITERION_NAMES = {"criterion", "loss_fn", "loss_func", "loss_function", "criterions"}
MODEL_METHODS = {
    "to",
    "cuda",
    "cpu",
    "half",
    "bfloat16",
    "float",
    "train",
    "eval",
    "requires_grad_",
}
# Verbs at the beginning of function names such as prepare_model and get_train_loader.
VERBS = {
    "get",
    "make",
    "build",
    "create",
    "prepare",
    "load",
    "save",
    "init",
    "setup",
    "wrap",
    "unwrap",
}
VERBS |= {
    "is",
    "has",
    "use",
    "set",
    "no",
    "configure",
    "register",
    "export",
    "compile",
    "log",
    "num",
}
# Packages whose models return results on the CPU, or do not use torch.
NOT_TORCH: tuple[str, ...] = (
    "ultralytics.",
    "sklearn.",
    "xgboost.",
    "lightgbm.",
    "tensorflow.",
    "keras.",
    "jax.",
)
NOT_TORCH += ("onnxruntime.", "spacy.", "gensim.", "sentence_transformers.", "whisper.", "vllm.")
NOT_TORCH += ("transformers.pipeline", "tokenizers.", "tiktoken.", "torch.Generator", "networkx.")
# Methods of modules that tensors do not have.
MODULE_METHODS = {"parameters", "named_parameters", "state_dict", "load_state_dict", "eval"}
MODULE_METHODS |= {"modules", "children", "named_modules", "zero_grad"}
PLAIN_ATTRIBUTES = {"shape", "device", "dtype", "ndim", "is_cuda", "requires_grad", "layout"}
PLAIN_METHODS = {"item", "tolist", "size", "dim", "numel", "element_size", "get_device", "stride"}
PLAIN_METHODS |= {"backward", "is_contiguous", "data_ptr", "is_floating_point", "items", "keys"}

FACTORIES = {"torch.zeros", "torch.ones", "torch.empty", "torch.full", "torch.eye"}
FACTORIES |= {"torch.rand", "torch.randn", "torch.randint", "torch.randperm"}
FACTORIES |= {"torch.arange", "torch.linspace"}
_NOT_TENSORS = (
    "torch.cuda.",
    "torch.backends.",
    "torch.distributed.",
    "torch.utils.",
    "torch.jit.",
    "torch.autograd.",
    "torch.profiler.",
    "torch.device",
    "torch.Generator",
    "torch.load",
    "torch.save",
    "torch.compile",
    "torch.manual_seed",
    "torch.set_",
    "torch.get_",
    "torch.is_",
    "torch.no_grad",
    "torch.enable_grad",
    "torch.inference_mode",
    "torch.autocast",
    "torch.amp.",
    "torch.hub.",
    "torch.dtype",
    "torch.Size",
    "torch.numel",
    "torch.finfo",
    "torch.iinfo",
    "torch.initial_seed",
    "torch.random.",
    "torch.accelerator.",
    "torch.multiprocessing.",
    "torch.export.",
    "torch.fx.",
    "torch.library.",
    "torch._",
    "torch.mps.",
    "torch.xpu.",
    "torch.version",
    "torch.testing.",
    "torch.ops.",
    "torch.onnx.",
    "torch.overrides.",
    "torch.use_deterministic_algorithms",
)
_MAKES_MODELS = (
    "torchvision.models.",
    "timm.create_model",
    "timm.models.create_model",
    "torch.hub.load",
    "torch.nn.parallel.DistributedDataParallel",
    "torch.nn.DataParallel",
    "torch.compile",
)


def is_not_torch(maker: str) -> bool:
    """Returns whether the function `maker` never creates a model, whatever its result is called.

    Examples are `opt = parser.parse_args()`, `encoder = json.JSONEncoder()` and
    `generator = torch.Generator()`.
    """
    top = maker.partition(".")[0]
    return maker.startswith(NOT_TORCH) or ("." in maker and top in sys.stdlib_module_names)


def names_a_gpu(script: Script) -> bool:
    """Returns whether the script mentions a GPU, so that it may use one."""
    if any(name.startswith(("torch.cuda", "torch.accelerator")) for _, name in script.imported):
        return True
    for text in script.nodes(ast.Constant):
        if isinstance(text.value, str) and ("cuda" in text.value or text.value == "gpu"):
            parent = script.parents.get(text)
            if not isinstance(parent, ast.Expr):  # not a docstring
                return True
    if any(node.attr == "cuda" for node in script.nodes(ast.Attribute)):
        return True
    if any(
        name.split(".")[0] in ("accelerate", "lightning", "pytorch_lightning")
        for _, name in script.imported
    ):
        return True
    return any(target_device(script, call) == "gpu" for call in script.methods("to"))


def uses_rpc(script: Script) -> bool:
    """Returns whether the script uses torch.distributed.rpc or its autograd.

    RPC sends tensors that are on the CPU.
    """
    names = ("torch.distributed.rpc", "torch.distributed.autograd")
    if any(
        f"{name}.".startswith(tuple(f"{prefix}." for prefix in names))
        for _, name in script.imported
    ):
        return True
    return any(script.name(node) in names for node in script.nodes(ast.Attribute))


def target_device(script: Script, call: ast.Call) -> str:
    """Returns where `x.to(...)`, `x.cuda()` or `x.cpu()` moves a tensor: "gpu", "cpu" or ""."""
    function = call.func
    if not isinstance(function, ast.Attribute):
        return ""
    if function.attr in ("cuda", "cpu"):
        return "gpu" if function.attr == "cuda" else "cpu"
    if function.attr != "to":
        return ""
    target = argument(call, "device", 0)
    return device_named_by(script, target)


def device_named_by(script: Script, target: ast.expr | None) -> str:
    """Returns the device that an expression denotes: "gpu", "cpu" or "".

    A variable named `device` counts as a GPU.
    """
    if target is None:
        return ""
    if isinstance(target, ast.Call) and script.name(target.func) == "torch.device":
        target = argument(target, "type", 0)
    value = script.constant(target)
    if isinstance(value, str):
        return "cpu" if value.startswith("cpu") else "gpu" if value.startswith("cuda") else ""
    if isinstance(value, int) and not isinstance(value, bool):
        return "gpu"
    if isinstance(target, ast.IfExp):
        sides = (device_named_by(script, target.body), device_named_by(script, target.orelse))
        return "gpu" if "gpu" in sides else ""
    name = written(target) if target is not None else ""
    if name.rpartition(".")[2].endswith("device") or name.endswith(("gpu", "local_rank", "rank")):
        return _device_variable(script, target)
    return ""


def _device_variable(script: Script, target: ast.expr | None) -> str:
    """Returns "cpu" if "cpu" is the only value of the variable. A conditional `device` counts as a GPU."""
    found: set[bool] = set()
    for binding in script.bindings(target) if target is not None else ():
        if binding.how != "assign" or binding.value is None or binding.value is target:
            continue
        if isinstance(binding.value, ast.Name | ast.Attribute):
            continue
        value = binding.value
        if isinstance(value, ast.Call) and script.name(value.func) == "torch.device":
            value = argument(value, "type", 0) or value
        found.add(isinstance(value, ast.Constant) and value.value == "cpu")
    return "cpu" if found == {True} else "gpu"


def call_result(script: Script, name: str, call: ast.Call, depth: int) -> Value:
    """Returns the value of a call to an imported function."""
    if name in ("float", "int", "bool", "len", "round", "str"):
        return NUMBER
    if name in ("sum", "max", "min", "abs") and call.args:
        return script.values.infer(call.args[0], depth + 1)
    if name in ("tqdm.tqdm", "tqdm.auto.tqdm", "tqdm", "iter", "next") and call.args:
        inner = script.values.infer(call.args[0], depth + 1)
        return Value("batch", inner.device) if name == "next" and inner.kind == "loader" else inner
    if name.startswith("numpy."):
        return _numpy_result(name)
    if name in FACTORIES or name in ("torch.tensor", "torch.as_tensor", "torch.from_numpy"):
        device = argument(call, "device")
        if device is None or script.constant(device) == "cpu":
            return Value("tensor", "cpu")
        return Value("tensor", device_named_by(script, device))
    if name.startswith(_MAKES_MODELS) or name.endswith((".from_pretrained", ".from_config")):
        if "odel" in name or name.startswith("torch.") or "For" in name:
            return Value("model", script.values.model_device)
        return UNKNOWN
    if name.startswith("torch.optim.lr_scheduler."):
        return Value("other")
    if name.startswith(("torch.optim.", "tundish.optim.", "timm.optim.")):
        return Value("optimizer")
    if name in ("torch.utils.data.DataLoader", "tundish.Loader"):
        return Value("loader", "cpu" if name.startswith("torch") else "")
    return _torch_result(script, name, call, depth)


def _torch_result(script: Script, name: str, call: ast.Call, depth: int) -> Value:
    if name.startswith(("torch.nn.functional.", "torch.linalg.")):
        return _result_on_arguments_device(script, call, depth)
    if name.startswith(("torch.nn.utils.clip_grad", "torch.nn.utils.get_total_norm")):
        return Value("tensor", script.values.model_device)
    if name.startswith("torch.nn."):
        last = name.rpartition(".")[2]
        if not last[:1].isupper() or last in ("Parameter", "ParameterList", "ParameterDict"):
            return UNKNOWN
        kind = "criterion" if last.endswith("Loss") else "model"
        return Value(kind, script.values.model_device)
    if not name.startswith("torch.") or name.startswith(_NOT_TENSORS) or name.count(".") > 1:
        return UNKNOWN
    if not name.partition(".")[2][:1].islower():
        return UNKNOWN
    return _result_on_arguments_device(script, call, depth)


def _result_on_arguments_device(script: Script, call: ast.Call, depth: int) -> Value:
    """Returns the result of a function of tensors: a tensor on the device of its arguments."""
    arguments = list(call.args[:3]) + [keyword.value for keyword in call.keywords]
    for arg in list(arguments):
        if isinstance(arg, ast.List | ast.Tuple):
            arguments += arg.elts[:3]
    devices = {script.values.infer(arg, depth + 1).device for arg in arguments}
    device = "gpu" if "gpu" in devices else "cpu" if devices == {"cpu"} else ""
    return Value("tensor", device)


def _numpy_result(name: str) -> Value:
    if name.startswith("numpy.random.") and name.endswith(("default_rng", "RandomState", ".seed")):
        return UNKNOWN
    last = name.rpartition(".")[2]
    return Value("array") if last[:1].islower() else UNKNOWN


def tensor_method_result(script: Script, call: ast.Call, name: str, owner: Value) -> Value:
    if name in PLAIN_METHODS:
        return NUMBER
    if name == "numpy":
        return Value("array")
    moved = target_device(script, call)
    if moved:
        return Value("tensor", moved)
    if name in ("type_as", "to") and call.args:
        other = script.values.infer(call.args[0])
        return Value("tensor", other.device if other.kind == "tensor" else owner.device)
    return owner
