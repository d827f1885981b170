"""Settings of the doctor's probe, such as the number of steps in each phase."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, replace

STEPS_OF_RANKS = 30
VARIABLE = (
    "TUNDISH_DOCTOR"  # "FOLDER|name=value|..."; "|" and "%" in values are written as %7C and %25
)


@dataclass
class Settings:
    warm_up: int = 5  # least number of warm-up steps; the workers' prefetched batches are added
    steps: int = 0  # steps to measure; 0: until there are enough
    least_steps: int = 20
    most_steps: int = 300
    least_s: float = 4.0
    most_s: float = 60.0
    profiled: int = 10  # steps in which the sampling profiler runs
    most_profiled_s: float = 15.0
    timeline: int = 0  # steps in the timeline; 0: none
    timeline_folder: str = ""  # folder for the parts of the timeline
    functions: int = 0  # steps profiled by cProfile; 0: none
    memory: int = 0  # steps in which every allocation is recorded; 0: none
    cached_batches: int = 14  # steps with cached batches; 0: none
    layers: int = (
        3  # steps in which layers are timed, after one step that counts operations; 0: none
    )
    inspect: bool = True  # measure the stages of the loader when everything else is measured
    proof: str = (
        ""  # folder of the proof; "": none. The steps with cached batches are then its runs
    )
    proof_compares: int = 0  # 0: write the start of the runs; 1: read it
    proof_runs: str = ""  # kinds of the runs, comma-separated; see proof/proof.py
    proof_s: float = 0.0  # seconds for all runs
    stop: bool = True  # end the script when everything is measured
    apply: str = ""  # change to try, such as "workers=4" or "accelerate"
    apply_to: str = ""  # dataset of the loader to change: module and class
    apply_at: str = (
        ""  # origins of the loaders to change, comma-separated; empty: every loader of the dataset
    )

    def is_enough(self, steps: int, seconds: float) -> bool:
        if self.steps:
            return steps >= self.steps
        if steps >= self.most_steps or (seconds >= self.most_s and steps >= 5):
            return True
        return steps >= self.least_steps and seconds >= self.least_s

    def is_too_long(self, steps: int, seconds: float) -> bool:
        """Returns whether a phase has taken too long and must end.

        `steps` also counts steps in which an epoch begins or ends.
        """
        if steps >= max(self.most_steps, 4 * self.steps):
            return True
        return not self.steps and steps >= 5 and seconds >= self.most_s

    def for_ranks(self, world_size: int) -> Settings:
        """Returns settings for several ranks, with a fixed number of steps.

        Ranks wait for each other in every step, so all ranks must stop measuring after the same step.
        A time limit could end them after different steps.
        """
        if world_size <= 1:
            return self
        return replace(self, steps=self.steps or STEPS_OF_RANKS, most_profiled_s=float("inf"))


def to_variable(folder: str, settings: Settings) -> str:
    values = asdict(settings)
    texts = {name: v if isinstance(v, str) else str(float(v)) for name, v in values.items()}
    fields = [folder, *(f"{name}={text}" for name, text in texts.items())]
    return "|".join(field.replace("%", "%25").replace("|", "%7C") for field in fields)


def from_variable(text: str) -> tuple[str, Settings]:
    folder, *fields = (field.replace("%7C", "|").replace("%25", "%") for field in text.split("|"))
    settings = Settings()
    for field in fields:
        name, _, value = field.partition("=")
        kind = type(getattr(settings, name))
        setattr(settings, name, value if kind is str else kind(float(value)))
    return os.path.abspath(folder), settings
