"""How many steps are measured, and what follows."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, replace

STEPS_OF_RANKS = 30
VARIABLE = "TUNDISH_DOCTOR"  # a folder for the facts, then settings, as "FOLDER|name=value|...", with %7C and %25 for "|" and "%" in them


@dataclass
class Settings:
    warm_up: int = 5  # steps, at least; the batches that workers made ahead come on top
    steps: int = 0  # to measure; 0: until there are enough
    least_steps: int = 20
    most_steps: int = 300
    least_s: float = 4.0
    most_s: float = 60.0
    profiled: int = 10  # steps in which the loop's lines are sampled
    most_profiled_s: float = 15.0
    timeline: int = 0  # steps that are recorded for a timeline; 0: none
    timeline_folder: str = ""  # for its parts
    functions: int = 0  # steps in which cProfile looks at the loop's thread; 0: none
    memory: int = 0  # steps in which every allocation is recorded; 0: none
    replayed: int = 14  # steps with cached batches; 0: none
    layers: int = 3  # timed steps in which every layer is measured, after one in which operations are counted; 0: none
    stop: bool = True  # end the script when all is measured
    apply: str = ""  # a change to be tried: "workers=4", "accelerate"
    apply_to: str = ""  # the loader's data set that the change is for: module and class
    apply_at: str = ""  # its origins, with commas; empty: every loader of that data set

    def is_enough(self, steps: int, seconds: float) -> bool:
        if self.steps:
            return steps >= self.steps
        if steps >= self.most_steps or (seconds >= self.most_s and steps >= 5):
            return True
        return steps >= self.least_steps and seconds >= self.least_s

    def is_too_long(self, steps: int, seconds: float) -> bool:
        """A phase ends, whatever counts: `steps` are all of it, also those in which an epoch begins or ends."""
        if steps >= max(self.most_steps, 4 * self.steps):
            return True
        return not self.steps and steps >= 5 and seconds >= self.most_s

    def for_ranks(self, world_size: int) -> Settings:
        """Ranks wait for each other in every step: all of them must end after the same one, so only
        counts decide, and no clock."""
        if world_size <= 1:
            return self
        return replace(self, steps=self.steps or STEPS_OF_RANKS, most_profiled_s=float("inf"))


def to_variable(folder: str, settings: Settings) -> str:
    values = asdict(settings)
    texts = {name: v if isinstance(v, str) else str(float(v)) for name, v in values.items()}
    words = [folder, *(f"{name}={text}" for name, text in texts.items())]
    return "|".join(one.replace("%", "%25").replace("|", "%7C") for one in words)


def from_variable(text: str) -> tuple[str, Settings]:
    folder, *words = (one.replace("%7C", "|").replace("%25", "%") for one in text.split("|"))
    settings = Settings()
    for word in words:
        name, _, value = word.partition("=")
        kind = type(getattr(settings, name))
        setattr(settings, name, value if kind is str else kind(float(value)))
    return os.path.abspath(folder), settings
