"""Results of `tundish.doctor`, `tundish.check` and `tundish.layers`, and a Lightning callback.

    from tundish.diagnosis import DoctorCallback

    callback = DoctorCallback(stop=True)
    Trainer(callbacks=[callback]).fit(model)
    print(callback.verdict.cause)

DoctorCallback    `tundish.doctor` as a Lightning callback (docs/doctor.md)
Verdict           what bounds the step: `verdict` of `tundish.doctor` and of the callback
Layers            the table returned by `tundish.layers` (docs/doctor.md)
Finding           one line reported by `tundish.check` (docs/check.md)
"""

from typing import TYPE_CHECKING

from .._lazy import lazy_names

if TYPE_CHECKING:
    from .lightning_callback import DoctorCallback
    from .lint.finding import Finding
    from .model_layers import Layers
    from .verdict.verdict import Verdict

__all__ = ["DoctorCallback", "Finding", "Layers", "Verdict"]

_MODULES = {
    "DoctorCallback": ".lightning_callback",
    "Finding": ".lint.finding",
    "Layers": ".model_layers",
    "Verdict": ".verdict.verdict",
}
__getattr__, __dir__ = lazy_names(__name__, _MODULES, without_torch=["Finding"])
