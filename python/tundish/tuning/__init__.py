"""The building blocks of `tundish.tune`: training steps, tricks, memory prediction, batch size search.

    from tundish.tuning import Bf16, Step

    step = Step(model, optimizer, loss_fn)
    Bf16().apply(step)
    loss = step((inputs, targets))

Job, Step                   a model with its training data, and one training step
Trick, Grade                base class for your own tricks, and how exact a trick must be
Bf16, Compile, TF32, ...    tricks: optimizations that change the training step (docs/tricks.md)
TunePlan, FrameworkPlan     apply a plan in Lightning, Accelerate and other frameworks (docs/tune.md)
find_batch_size, scale_learning_rate, tune_loader                   docs/tune.md
predict_memory, measure_peak, find_long_lived, choose_blocks        docs/training-memory.md
find_nondeterministic, find_difference                              docs/resume.md
"""

from typing import TYPE_CHECKING

from .._lazy import lazy_names

if TYPE_CHECKING:  # "X as X": tells type checkers that the name is public
    from .framework_plan import FrameworkPlan as FrameworkPlan
    from .job import Job as Job
    from .learning_rate import scale_learning_rate as scale_learning_rate
    from .lightning_callback import TunePlan as TunePlan
    from .loader_settings import LoaderReport as LoaderReport
    from .loader_settings import LoaderTrial as LoaderTrial
    from .loader_settings import tune_loader as tune_loader
    from .memory.long_lived import LongLived as LongLived
    from .memory.long_lived import find_long_lived as find_long_lived
    from .memory.prediction import MemoryPrediction as MemoryPrediction
    from .memory.prediction import measure_peak as measure_peak
    from .memory.prediction import predict_memory as predict_memory
    from .memory.recompute import BlockChoice as BlockChoice
    from .memory.recompute import choose_blocks as choose_blocks
    from .numerics.nondeterminism import NondeterministicOperation as NondeterministicOperation
    from .numerics.nondeterminism import find_nondeterministic as find_nondeterministic
    from .numerics.repeatability import Difference as Difference
    from .numerics.repeatability import find_difference as find_difference
    from .search.batch_size import BatchPoint as BatchPoint
    from .search.batch_size import BatchReport as BatchReport
    from .search.batch_size import find_batch_size as find_batch_size
    from .seeds import Seeds as Seeds
    from .step import Step as Step
    from .tricks.accumulate import Accumulate as Accumulate
    from .tricks.autocast import Bf16 as Bf16
    from .tricks.autocast import Fp16 as Fp16
    from .tricks.channels_last import ChannelsLast as ChannelsLast
    from .tricks.checkpointing import Checkpointing as Checkpointing
    from .tricks.compile import Compile as Compile
    from .tricks.cuda_graph import CudaGraph as CudaGraph
    from .tricks.cudnn_benchmark import CudnnBenchmark as CudnnBenchmark
    from .tricks.ddp import DdpOptions as DdpOptions
    from .tricks.inplace import InplaceActivations as InplaceActivations
    from .tricks.optimizer_kernels import ForeachOptimizer as ForeachOptimizer
    from .tricks.optimizer_kernels import FusedOptimizer as FusedOptimizer
    from .tricks.reference_flags import StrictFp32 as StrictFp32
    from .tricks.reference_flags import TorchDefaults as TorchDefaults
    from .tricks.set_to_none import SetToNone as SetToNone
    from .tricks.tf32 import TF32 as TF32
    from .tricks.trick import Grade as Grade
    from .tricks.trick import Trick as Trick
    from .tricks.tundish_muon import TundishMuon as TundishMuon
    from .tricks.tundish_optimizer import TundishOptimizer as TundishOptimizer

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
__all__ = sorted(_MODULES)
__getattr__, __dir__ = lazy_names(__name__, _MODULES)
