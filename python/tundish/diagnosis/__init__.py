"""Result classes of `tundish.doctor`, `tundish.check` and `tundish.layers`, and a Lightning callback.

    from tundish.diagnosis import DoctorCallback

    callback = DoctorCallback(stop=True)
    Trainer(callbacks=[callback]).fit(model)
    print(callback.verdict.cause)

DoctorCallback    `tundish.doctor` as a Lightning callback (docs/doctor.md)
Verdict           the doctor's result: what limits the speed of a training step (docs/doctor.md)
Layers            the table returned by `tundish.layers` (docs/doctor.md)
CheckReport       the findings of `tundish.check`, and the files it could not check (docs/check.md)
Finding           one problem found by `tundish.check` (docs/check.md)
"""

from typing import TYPE_CHECKING

from .._lazy import lazy_names

if TYPE_CHECKING:  # "X as X": tells type checkers that the name is public
    from .lightning_callback import DoctorCallback as DoctorCallback
    from .lint.finding import CheckReport as CheckReport
    from .lint.finding import Finding as Finding
    from .model_layers import Layers as Layers
    from .verdict.verdict import Verdict as Verdict

_MODULES = {
    "CheckReport": ".lint.finding",
    "DoctorCallback": ".lightning_callback",
    "Finding": ".lint.finding",
    "Layers": ".model_layers",
    "Verdict": ".verdict.verdict",
}
__all__ = sorted(_MODULES)
__getattr__, __dir__ = lazy_names(__name__, _MODULES, without_torch=[".lint."])
