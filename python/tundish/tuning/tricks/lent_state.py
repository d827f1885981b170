"""Shares the groups and states of a user's optimizer with optimizers of tundish.optim."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from .optimizer_equivalents import OptimizerTwin


class LentState:
    """The states of a user's optimizer, kept in the format of tundish.optim until the last `release()`.

    The step(), checkpoints and copies of the user's optimizer still use its original format. Several
    plans for one optimizer share one LentState, so that the states are converted only once.
    """

    def __init__(self, optimizer: Any, twin: OptimizerTwin) -> None:
        self._optimizer, self._twin = optimizer, twin
        self._borrowers: list[Any] = []
        self._is_ours = False  # whether the states have the format of tundish.optim
        self.step_hooks = [
            optimizer.register_step_pre_hook(lambda *_: self.to_theirs()),
            optimizer.register_step_post_hook(lambda *_: self.to_ours()),
        ]
        self._hooks = [
            *self.step_hooks,
            optimizer.register_state_dict_post_hook(
                lambda _, saved: self._users_checkpoint(saved), prepend=True
            ),
            optimizer.register_load_state_dict_post_hook(lambda _: self._loaded()),
        ]
        optimizer._tundish_lent = self  # the only reference, so both are freed together
        optimizer.__getstate__ = self._copied  # for copy.deepcopy() and pickle

    def lend(self, borrower: Any) -> None:
        """Shares the user's groups and states with `borrower`, an optimizer of tundish.optim.

        Schedulers and checkpoints can then keep using the user's optimizer.
        """
        self.to_ours()
        self._share(borrower)
        self._borrowers.append(borrower)

    def release(self, borrower: Any) -> None:
        """Ends the sharing with `borrower`. The last release restores the original format."""
        self._borrowers = [other for other in self._borrowers if other is not borrower]
        if self._borrowers:
            return
        del self._optimizer._tundish_lent
        for hook in self._hooks:
            hook.remove()
        del self._optimizer.__getstate__
        self.to_theirs()

    def to_ours(self) -> None:
        """Converts the states to the format of tundish.optim.

        Called before a step of tundish.optim, and after an exception in the optimizer's own step.
        """
        self._follow_replacement()
        if not self._is_ours:
            self._twin.to_ours(self._optimizer.param_groups, self._optimizer.state)
            self._is_ours = True

    def to_theirs(self) -> None:
        self._follow_replacement()
        if self._is_ours:
            self._twin.to_theirs(self._optimizer.param_groups, self._optimizer.state)
            restore_state_types(self._optimizer.state)
            self._is_ours = False

    def _follow_replacement(self) -> None:
        """Shares the new groups or states if the user has assigned new ones to the optimizer."""
        state = self._optimizer.state
        replaced = False
        for borrower in self._borrowers:
            if (
                borrower.state is not state
                or borrower.param_groups is not self._optimizer.param_groups
            ):
                replaced = replaced or borrower.state is not state
                self._share(borrower)
        if replaced and self._is_ours:  # the entries may be new, or copies in either format
            self._twin.to_ours(self._optimizer.param_groups, state)

    def _loaded(self) -> None:
        """Converts groups and states after load_state_dict(), which restores the original format."""
        for borrower in self._borrowers:
            self._share(borrower)
        self._is_ours = False
        self.to_ours()

    def _share(self, borrower: Any) -> None:
        borrower.param_groups, borrower.state = self._optimizer.param_groups, self._optimizer.state
        borrower.defaults = self._optimizer.defaults
        borrower._reset_binding()

    def _users_checkpoint(self, saved: dict[str, Any]) -> dict[str, Any]:
        """Returns a checkpoint in the format of the user's optimizer."""
        self._follow_replacement()  # may change the entries
        states = {key: dict(state) for key, state in saved["state"].items()}
        groups = [dict(group) for group in saved["param_groups"]]
        if self._is_ours:
            self._twin.to_theirs(groups, states)
            restore_state_types(self._by_parameter(groups, states))
        return {**saved, "state": states, "param_groups": groups}

    def _by_parameter(
        self, groups: list[dict[str, Any]], states: dict[Any, dict[str, Any]]
    ) -> dict[Any, dict[str, Any]]:
        """Returns the states by parameter. A checkpoint identifies parameters by number."""
        pairs = [
            (parameter, states[key])
            for group, own in zip(groups, self._optimizer.param_groups)
            for key, parameter in zip(group["params"], own["params"])
            if key in states
        ]
        return dict(pairs)

    def _copied(self) -> dict[str, Any]:
        values = type(self._optimizer).__getstate__(self._optimizer)
        own = self._users_checkpoint(values)
        return {**own, "state": defaultdict(dict, own["state"])}


def lent_state(optimizer: Any, twin: OptimizerTwin) -> LentState:
    """Returns the optimizer's LentState. Creates one if there is none."""
    lent: LentState | None = getattr(optimizer, "_tundish_lent", None)
    return LentState(optimizer, twin) if lent is None else lent


def has_step_hooks(optimizer: Any) -> bool:
    """Returns whether the optimizer's step() calls hooks other than LentState's."""
    lent: LentState | None = getattr(optimizer, "_tundish_lent", None)
    known = {hook.id for hook in lent.step_hooks} if lent is not None else set()
    hooks = (*optimizer._optimizer_step_pre_hooks, *optimizer._optimizer_step_post_hooks)
    return bool(set(hooks) - known)


def restore_state_types(states: dict[Any, dict[str, Any]]) -> None:
    """Converts states to the data type of their parameters, as torch and timm store them.

    tundish.optim stores the states of 16-bit parameters in fp32.
    """
    for parameter, state in states.items():
        for key, value in state.items():
            same = hasattr(value, "shape") and value.shape == parameter.shape
            if same and value.dtype != parameter.dtype and key != "step":
                state[key] = value.to(parameter.dtype)
