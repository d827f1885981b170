"""The parts of `tundish.tune`, for use on their own: training steps, tricks, memory, batch size.

    from tundish.tuning import Bf16, Step

    step = Step(model, optimizer, loss_fn)
    Bf16().apply(step)
    loss = step((inputs, targets))

Job, Step                   the model to train, and one training step that tricks change
Trick, Grade                base class for your own tricks, and how exact a trick must be
Bf16, Compile, TF32, ...    training tricks; docs/tricks.md lists the ones that `tundish.tune` tries
TunePlan, FrameworkPlan     apply a plan in Lightning, Accelerate and other frameworks (docs/tune.md)
find_batch_size, scale_learning_rate, tune_loader                   docs/tune.md
predict_memory, measure_peak, find_long_lived, choose_blocks        docs/training-memory.md
find_nondeterministic, find_difference                              docs/resume.md
"""

from typing import TYPE_CHECKING

from .._lazy import lazy_names

if TYPE_CHECKING:
    from .framework_plan import FrameworkPlan
    from .job import Job
    from .learning_rate import scale_learning_rate
    from .lightning_callback import TunePlan
    from .loader_settings import LoaderReport, LoaderTrial, tune_loader
    from .memory.long_lived import LongLived, find_long_lived
    from .memory.prediction import MemoryPrediction, measure_peak, predict_memory
    from .memory.recompute import BlockChoice, choose_blocks
    from .numerics.nondeterminism import NondeterministicOperation, find_nondeterministic
    from .numerics.repeatability import Difference, find_difference
    from .search.batch_size import BatchPoint, BatchReport, find_batch_size
    from .seeds import Seeds
    from .step import Step
    from .tricks.accumulate import Accumulate
    from .tricks.autocast import Bf16, Fp16
    from .tricks.channels_last import ChannelsLast
    from .tricks.checkpointing import Checkpointing
    from .tricks.compile import Compile
    from .tricks.cuda_graph import CudaGraph
    from .tricks.cudnn_benchmark import CudnnBenchmark
    from .tricks.ddp import DdpOptions
    from .tricks.inplace import InplaceActivations
    from .tricks.optimizer_kernels import ForeachOptimizer, FusedOptimizer
    from .tricks.reference_flags import StrictFp32, TorchDefaults
    from .tricks.set_to_none import SetToNone
    from .tricks.tf32 import TF32
    from .tricks.trick import Grade, Trick
    from .tricks.tundish_muon import TundishMuon
    from .tricks.tundish_optimizer import TundishOptimizer

__all__ = [
    "TF32",
    "Accumulate",
    "BatchPoint",
    "BatchReport",
    "Bf16",
    "BlockChoice",
    "ChannelsLast",
    "Checkpointing",
    "Compile",
    "CudaGraph",
    "CudnnBenchmark",
    "DdpOptions",
    "Difference",
    "ForeachOptimizer",
    "Fp16",
    "FrameworkPlan",
    "FusedOptimizer",
    "Grade",
    "InplaceActivations",
    "Job",
    "LoaderReport",
    "LoaderTrial",
    "LongLived",
    "MemoryPrediction",
    "NondeterministicOperation",
    "Seeds",
    "SetToNone",
    "Step",
    "StrictFp32",
    "TorchDefaults",
    "Trick",
    "TundishMuon",
    "TundishOptimizer",
    "TunePlan",
    "choose_blocks",
    "find_batch_size",
    "find_difference",
    "find_long_lived",
    "find_nondeterministic",
    "measure_peak",
    "predict_memory",
    "scale_learning_rate",
    "tune_loader",
]

_MODULES = {
    "Accumulate": ".tricks.accumulate",
    "BatchPoint": ".search.batch_size",
    "BatchReport": ".search.batch_size",
    "Bf16": ".tricks.autocast",
    "BlockChoice": ".memory.recompute",
    "ChannelsLast": ".tricks.channels_last",
    "Checkpointing": ".tricks.checkpointing",
    "Compile": ".tricks.compile",
    "CudaGraph": ".tricks.cuda_graph",
    "CudnnBenchmark": ".tricks.cudnn_benchmark",
    "DdpOptions": ".tricks.ddp",
    "Difference": ".numerics.repeatability",
    "ForeachOptimizer": ".tricks.optimizer_kernels",
    "Fp16": ".tricks.autocast",
    "FrameworkPlan": ".framework_plan",
    "FusedOptimizer": ".tricks.optimizer_kernels",
    "Grade": ".tricks.trick",
    "InplaceActivations": ".tricks.inplace",
    "Job": ".job",
    "LoaderReport": ".loader_settings",
    "LoaderTrial": ".loader_settings",
    "LongLived": ".memory.long_lived",
    "MemoryPrediction": ".memory.prediction",
    "NondeterministicOperation": ".numerics.nondeterminism",
    "Seeds": ".seeds",
    "SetToNone": ".tricks.set_to_none",
    "Step": ".step",
    "StrictFp32": ".tricks.reference_flags",
    "TF32": ".tricks.tf32",
    "TorchDefaults": ".tricks.reference_flags",
    "Trick": ".tricks.trick",
    "TundishMuon": ".tricks.tundish_muon",
    "TundishOptimizer": ".tricks.tundish_optimizer",
    "TunePlan": ".lightning_callback",
    "choose_blocks": ".memory.recompute",
    "find_batch_size": ".search.batch_size",
    "find_difference": ".numerics.repeatability",
    "find_long_lived": ".memory.long_lived",
    "find_nondeterministic": ".numerics.nondeterminism",
    "measure_peak": ".memory.prediction",
    "predict_memory": ".memory.prediction",
    "scale_learning_rate": ".learning_rate",
    "tune_loader": ".loader_settings",
}
__getattr__, __dir__ = lazy_names(__name__, _MODULES)
