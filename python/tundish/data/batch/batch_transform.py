"""Applies the user's function to each batch: Loader(batch_transform=f)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any


class BatchTransform:
    """Calls the user's function in the thread that receives the batch. The batch already counts as delivered."""

    def __init__(self, function: Callable[[Any], Any] | None, path: Any) -> None:
        if function is not None and not callable(function):
            raise TypeError(
                f"batch_transform must be a function of a batch, or None, not {function!r}"
            )
        self.function = function  # None: batches stay unchanged
        self._path = path
        self._lock = threading.Lock()  # several threads may receive batches
        self._seconds = 0.0

    def __call__(self, batch: Any, epoch: int, begin: int, end: int) -> Any:
        """Calls the function. `begin` and `end` are the positions of the global batch in the epoch."""
        assert self.function is not None
        from_s = time.perf_counter()
        try:
            out = self.function(batch)
            if out is None:
                raise TypeError("batch_transform returned None: it must return the batch")
            return out
        except StopIteration as error:  # the loop would mistake it for the end of the epoch
            raise _noted(
                RuntimeError("batch_transform raised StopIteration"), self._note(epoch, begin, end)
            ) from error
        except Exception as error:
            _noted(error, self._note(epoch, begin, end))
            raise
        finally:
            spent_s = time.perf_counter() - from_s
            with self._lock:
                self._seconds += spent_s

    def stats(self) -> dict[str, float]:
        return {"data/batch_transform_s": self._seconds}

    def _note(self, epoch: int, begin: int, end: int) -> str:
        return (
            f"in batch_transform, on the batch at positions {begin} to {end - 1} of epoch {epoch} "
            f"of {self._path}"
        )


def _noted(error: Exception, text: str) -> Exception:
    if hasattr(error, "add_note"):
        error.add_note(text)
    else:  # Python 3.10 has no notes; store the text under the name that later versions use
        error.__notes__ = [*getattr(error, "__notes__", []), text]  # type: ignore[attr-defined]
    return error
