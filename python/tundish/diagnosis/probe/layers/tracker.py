"""Tracks which module is active.

In the forward pass, this is the innermost module that is being called. In the backward pass, it is
the module that created the running autograd node. start() sets global hooks of torch, and stop()
removes them. The user's modules are not modified.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from .autograd_nodes import NodeOwners
from .layer_clocks import NoClock
from .modules import Modules

OUTSIDE = -1  # owner of backward computations outside modules, such as a loss
Context = Callable[[], AbstractContextManager[Any]]


class Tracker:
    """Tracks the active module.

    `around` returns a context manager in which every outermost call and every backward() run.
    """

    def __init__(self, modules: Modules) -> None:
        self.modules = modules
        self.clock: NoClock = NoClock()
        self.around: Context = nullcontext
        self.before_root: Callable[[], None] = lambda: None
        self.is_in_step: Callable[[], bool] = lambda: True
        self.current: int | None = None
        self.in_backward = False
        self.observes = False  # whether modules record shapes and layouts of their inputs
        self.failed = ""
        self._active = False
        self._thread = 0
        # Calls that have not ended: (id of the module, its number, the module that was active before).
        self._stack: list[tuple[int, int | None, int | None]] = []
        self._owners = NodeOwners()
        self._entered: list[AbstractContextManager[Any]] = []
        self._ignored = 0  # depth of nested calls that run without gradients
        self._when_run: dict[int, Callable[[Any], None]] = {}
        self._undo: list[Callable[[], None]] = []

    def start(self, thread: int) -> None:
        torch = sys.modules["torch"]
        self._thread, self._active = thread, True
        hooks = sys.modules["torch.nn.modules.module"]
        before = hooks.register_module_forward_pre_hook(self._safely(self._enter))
        after = hooks.register_module_forward_hook(self._safely(self._leave), always_call=True)
        original = torch.autograd.backward
        torch.autograd.backward = replacement = self._backward(original)

        def restore() -> None:
            if torch.autograd.backward is replacement:
                torch.autograd.backward = original

        self._undo = [before.remove, after.remove, restore]

    def stop(self) -> None:
        """Removes the global hooks. Disables the hooks on nodes of autograd graphs that still exist."""
        self._active = False
        while self._undo:
            self._undo.pop()()
        self._stack.clear()
        while self._entered:
            self._entered.pop().__exit__(None, None, None)

    def _is_tracked(self) -> bool:
        """Whether calls in the current thread are tracked.

        Includes autograd's threads, in which checkpointed modules are recomputed.
        """
        return self._active and (self.in_backward or self._thread == threading.get_ident())

    def _safely(self, function: Callable[..., None]) -> Callable[..., None]:
        """Wraps `function` so that no error reaches the script. Tracking ends at the first error."""

        is_compiling = sys.modules["torch"].compiler.is_compiling

        def call(*args: Any) -> None:
            if is_compiling() or self.failed or not self._is_tracked():
                return
            try:
                function(*args)
            except Exception as error:
                self.failed = f"{type(error).__name__}: {error}"

        return call

    def _enter(self, module: Any, args: Any) -> None:
        if self._ignored or not (self._stack or self._is_training()):
            self._ignored += 1
            return
        if not self._stack:
            self._begin_outermost(module)
        self.clock.moved(self.current, self.in_backward)
        number = self.modules.module_number(module)
        self._stack.append((id(module), number, self.current))
        if number is not None:  # a module created inside forward() belongs to its caller
            self.current = number
            if self.observes and not self.in_backward:
                self.modules.entered(number, args)
        self._owners.begins(self.current)
        self.clock.resumed()

    def _leave(self, module: Any, args: Any, output: Any) -> None:
        if self._ignored:
            self._ignored -= 1
            return
        if not any(module_id == id(module) for module_id, _, _ in self._stack):
            return
        self.clock.moved(self.current, self.in_backward)
        while True:  # also end inner calls whose hook did not run
            module_id, number, before = self._stack.pop()
            if module_id == id(module):
                break
        self.current = before
        self._owners.begins(before)
        self._owners.add_output(output)
        if self.observes and not self.in_backward and number is not None:
            self.modules.left(number, output)
        if not self._stack:
            self._end_outermost()
        self.clock.resumed()

    def _begin_outermost(self, module: Any) -> None:
        self.modules.add_root(module)
        self._owners = NodeOwners()
        if not self.in_backward:
            self.before_root()
            self._entered.append(self.around())
            self._entered[-1].__enter__()

    def _end_outermost(self) -> None:
        self._owners.hook(self._node_hook)
        self._owners = NodeOwners()
        if not self.in_backward and self._entered:
            self._entered.pop().__exit__(None, None, None)

    def _is_training(self) -> bool:
        """Returns whether a call belongs to training, not to a validation or a loader's transform."""
        return bool(sys.modules["torch"].is_grad_enabled()) and self.is_in_step()

    def _node_hook(self, owner: int) -> Callable[[Any], None]:
        if owner not in self._when_run:

            def runs(gradients: Any) -> None:
                if self._active and self.in_backward and self.current != owner:
                    self.clock.moved(self.current, True)
                    self.current = owner
                    self.clock.resumed()

            self._when_run[owner] = runs
        return self._when_run[owner]

    def _backward(self, original: Any) -> Any:
        def backward(*args: Any, **kwargs: Any) -> Any:
            if not self._is_tracked() or self.failed:
                return original(*args, **kwargs)
            inner, before = self.in_backward, self.current
            self.clock.moved(self.current, inner)
            if not inner:
                self.in_backward, self.current = True, OUTSIDE
            self.clock.resumed()
            try:
                with nullcontext() if inner else self.around():
                    return original(*args, **kwargs)
            finally:
                self.clock.moved(self.current, True)
                self.in_backward, self.current = inner, before
                self.clock.resumed()

        return backward
