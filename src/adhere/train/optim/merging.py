"""The Online Merging Optimizer: every step of an optimizer is merged with what the stage before had learned.

Source: "Online Merging Optimizers for Boosting Rewards and Mitigating Tax in Alignment", arXiv 2405.17931, equations 2
to 7 and algorithm 2; released code QwenLM/online_merging_optimizers, commit 9d411b8. The two differ; `mode` chooses.
Numbers that the released classes gave are stored and compared in tests/parity.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, NamedTuple, get_args

import torch

from adhere.errors import IntegrityError, UsageError, nearest
from adhere.train.optim.sparsify import Rescale, keep_largest, keep_random, pack, unpack

Method = Literal["dare", "ties"]
Mode = Literal["paper", "released"]
Weights = torch.nn.Module | Mapping[str, torch.Tensor] | Iterable[torch.Tensor]


class _Rules(NamedTuple):
    """Holds the rules in which the paper's text and the released code differ."""

    rescale: Rescale
    fixed_mask: bool
    weighted_election: bool
    keeps_small: bool  # a tensor of which the share keeps no coordinate is kept whole, else its largest coordinate is
    most: float | None  # coordinates of what is kept of tau are cut to this magnitude


_RULES: dict[tuple[Method, Mode], _Rules] = {
    ("dare", "paper"): _Rules("none", fixed_mask=False, weighted_election=True, keeps_small=False, most=None),
    ("ties", "paper"): _Rules("none", fixed_mask=False, weighted_election=True, keeps_small=False, most=None),
    ("dare", "released"): _Rules("inverse", fixed_mask=True, weighted_election=True, keeps_small=False, most=1.0),
    ("ties", "released"): _Rules("none", fixed_mask=True, weighted_election=False, keeps_small=True, most=None),
}


class OnlineMerging(torch.optim.Optimizer):
    """Wraps any torch optimizer; merges each of its steps with the change that the earlier stage made.

    With base weights b, reference weights r (those that this stage starts from), tau = r - b, and the change d that the
    wrapped optimizer would make to the weights w, a step is

        OnDARE: w <- w + (1 - alpha) B*d + alpha B'*tau,   B, B' Bernoulli(p), elementwise
        OnTIES: w <- w + merge((1 - alpha) top_p(d), alpha top_p(tau)),
                merge(x, y) = x + y where their signs agree, else the one of larger magnitude

    `released` does what the code does: OnDARE divides survivors by p (it uses dropout), draws the mask of tau once and
    cuts what is left of tau to [-1, 1]; OnTIES elects signs on tau + d without their weights, so that tau nearly always
    wins, and keeps a tensor whole that is smaller than 1/p. `paper` does what the text says: survivors are not rescaled
    and the mask of tau is fresh at each step, so a step of OnDARE is p times as long as the wrapped optimizer's, and
    with a small p nothing is learnt. `step_share` says how much of the wrapped step the last merge took. `p=1, alpha=0`
    is the wrapped optimizer, bit for bit; `alpha=0` with p < 1 is the control arm "update dropout".

    How ours differs from both. The optimizer is wrapped, not rewritten: Adam's epsilon stands where torch has it.
    `every` > 1 (step-K, algorithm 2) merges all tensors, where the released code stops after the first. Masks come from
    generators of their own, seeded by `seed`; on one device they are those of the released code under the same seed.

    Args:
        optimizer: Any torch optimizer but LBFGS; its parameters are merged. Its state is part of the wrapper's
            state.
        base: The weights before the earlier stage: a model or a mapping of names to tensors (matched by name where
            `model` is given, else by place), or tensors in the order of the optimizer's parameters.
        method: `dare` keeps a random share of coordinates, `ties` the largest.
        p: The share that is kept, in (0, 1].
        alpha: The weight of tau, in [0, 1]. Published: 1e-7 to 5e-6; at 1e-4 training collapsed.
        mode: `released` or `paper`.
        reference: The weights that this stage starts from; None: those that the parameters hold now. When a stage is
            resumed, make the wrapper before the checkpoint's weights are loaded, or give them here.
        model: Whose parameters the optimizer holds; its names say which tensor of `base` belongs to which.
        every: Merge at every K-th step; between these the wrapped optimizer steps alone.
        seed: Seed of the masks. Every process of data-parallel training must use the same one. A resumed stage
            goes on with the masks of its checkpoint, whatever the seed.

    Raises:
        UsageError: A setting outside its domain, or weights that do not fit the optimizer's parameters (such as an
            adapter's).

    Memory: tau in fp32 on each parameter's device, and a copy of the weights during a step (all the time with `every` >
    1).
    """

    def __init__(
        self,
        optimizer: torch.optim.Optimizer,
        base: Weights,
        method: Method = "dare",
        *,
        p: float = 5e-4,
        alpha: float = 5e-7,
        mode: Mode = "released",
        reference: Weights | None = None,
        model: torch.nn.Module | None = None,
        every: int = 1,
        seed: int = 0,
    ) -> None:
        _require("method", method, get_args(Method))
        _require("mode", mode, get_args(Mode))
        if not 0 < p <= 1:
            raise UsageError(f"OnlineMerging: p={p!r} must be in (0, 1]: the share of coordinates that is kept")
        if not 0 <= alpha <= 1:
            raise UsageError(
                f"OnlineMerging: alpha={alpha!r} must be in [0, 1]: the weight of the earlier stage's change"
            )
        if every < 1:
            raise UsageError(f"OnlineMerging: every={every!r} must be at least 1: merge at every K-th step")
        if isinstance(optimizer, torch.optim.LBFGS):
            raise UsageError("OnlineMerging cannot wrap LBFGS, which moves the weights several times a step")
        self.optimizer = optimizer
        self.method: Method = method
        self.mode: Mode = mode
        self.share, self.alpha, self.every, self.seed = p, alpha, every, seed
        self.steps = 0
        self._rules = _RULES[method, mode]
        self._hooks_of_wrapper()
        parameters = self._parameters()
        names = {id(parameter): name for name, parameter in model.named_parameters()} if model is not None else None
        start = parameters if reference is None else _match_weights(parameters, reference, "reference", names)
        before = _match_weights(parameters, base, "base", names)
        self._generators: dict[torch.device, torch.Generator] = {}
        self._tau = [
            now.detach().to(parameter.device, torch.float32) - then.to(parameter.device, torch.float32)
            for parameter, now, then in zip(parameters, start, before, strict=True)
        ]
        self._tau_sha256 = _sha256(self._tau)
        if self._rules.fixed_mask:
            self._tau = [self._sparse(tau) for tau in self._tau]
        # After the rescaling, as in the released code; cut before it, survivors could be as large as 1 / p.
        if self._rules.most is not None:
            self._tau = [tau.clamp_(-self._rules.most, self._rules.most) for tau in self._tau]
        self._anchors: list[torch.Tensor] | None = None
        self.step_share: float | None = None  # of the wrapped optimizer's last step, along it; None: nothing was merged

    def _hooks_of_wrapper(self) -> None:
        """Register as a torch optimizer, for schedulers and trainers, with the wrapped optimizer's groups."""
        super().__init__([torch.zeros(1)], {})  # registers hooks; its one group is replaced
        self.param_groups = self.optimizer.param_groups
        self.state = self.optimizer.state
        self.defaults = self.optimizer.defaults

    @property
    def _has_drawn_mask(self) -> bool:
        return self.method == "dare" and self._rules.fixed_mask and self.share < 1

    @property
    def is_transparent(self) -> bool:
        """Whether a step equals the wrapped optimizer's: nothing is dropped and nothing added."""
        return self.share >= 1 and self.alpha == 0

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """Take one step; parameters without a gradient stay as they are.

        Args:
            closure: Evaluates the model again and returns the loss; called once, before the step.
        """
        loss: float | None = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        if self.is_transparent:
            self.optimizer.step()
            self.steps += 1
            return loss
        parameters = self._parameters()
        # Weights at the last merge, which the merged change is added to; a parameter without a gradient does not move.
        have_moved = [parameter.grad is not None for parameter in parameters]
        anchors = (
            self._anchors if self._anchors is not None else [parameter.detach().clone() for parameter in parameters]
        )
        decays = [
            decay for group in self.param_groups for decay in [_decay(self.optimizer, group)] * len(group["params"])
        ]
        steps_from_zero = self.every == 1 and _ignores_weights(self.optimizer)
        # A step from zero is the exact change. As a difference of weights it would have their rounding, times 1 / p.
        if steps_from_zero:
            for parameter in parameters:
                parameter.zero_()
        self.optimizer.step()
        self.steps += 1
        for anchor, decay, has_moved in zip(anchors, decays, have_moved, strict=True):
            if has_moved and decay:  # decoupled decay is of the weights, and is no part of the change that is merged
                anchor.mul_(1 - decay)
        if self.steps % self.every:
            self._anchors = anchors
            return loss
        self._anchors = None
        # `step_share` is <part of the change that was merged, change> / |change|^2, over all tensors.
        along, whole = torch.zeros((), device=anchors[0].device), torch.zeros((), device=anchors[0].device)
        for parameter, anchor, tau, decay, has_moved in zip(
            parameters, anchors, self._tau, decays, have_moved, strict=True
        ):
            if not has_moved and self.every == 1:
                parameter.copy_(anchor)
            else:
                change = parameter.detach().to(torch.float32, copy=True)
                if not steps_from_zero:
                    change -= anchor.to(torch.float32)
                own_change = self._merge(parameter, anchor, change, tau, decay if has_moved else 0.0)
                along += (own_change * change).sum().to(along.device)
                whole += change.square().sum().to(whole.device)
        self.step_share = float(along / whole) if float(whole) > 0 else None
        return loss

    def _merge(
        self, parameter: torch.Tensor, anchor: torch.Tensor, change: torch.Tensor, tau: torch.Tensor, decay: float
    ) -> torch.Tensor:
        """Set `parameter` to `anchor` plus the merge of `change` and `tau`; return the part of `change` in the merge.

        `anchor` is decayed already; the merged change decays with it, as in the paper and in the released code.
        """
        sparse_change = self._sparse(change)
        if self.alpha == 0:
            ours, merged_change = sparse_change, sparse_change
        else:
            ours, theirs = self._consensus(sparse_change, tau if self._rules.fixed_mask else self._sparse(tau))
            merged_change = ours + theirs
        parameter.copy_(anchor.to(torch.float32) + merged_change * (1 - decay))
        return ours

    def _consensus(self, change: torch.Tensor, earlier: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the weighted parts of `change` and of `earlier` (tau) that are to be added."""
        ours, theirs = (1 - self.alpha) * change, self.alpha * earlier
        if self.method == "dare":
            return ours, theirs
        if self._rules.weighted_election:  # where signs differ, the larger of the weighted parts wins
            agree = ours.sign() * theirs.sign() >= 0
            is_ours = ours.abs() >= theirs.abs()
            return ours * (agree | is_ours), theirs * (agree | ~is_ours)
        # The released code elects without the weights: tau is far larger than a step, so its sign nearly always wins.
        elected_sign = torch.where(change + earlier >= 0, 1.0, -1.0)
        return ours * (change.sign() == elected_sign), theirs * (earlier.sign() == elected_sign)

    def _sparse(self, delta: torch.Tensor) -> torch.Tensor:
        if self.method == "ties":
            is_small = self._rules.keeps_small and self.share * delta.numel() < 1
            return delta.clone() if is_small else keep_largest(delta, self.share, self._rules.rescale)
        return keep_random(delta, self.share, self._generator(delta.device), self._rules.rescale)

    def _generator(self, device: torch.device) -> torch.Generator:
        if device not in self._generators:
            self._generators[device] = torch.Generator(device).manual_seed(self.seed)
        return self._generators[device]

    def _parameters(self) -> list[torch.Tensor]:
        return [parameter for group in self.param_groups for parameter in group["params"]]

    def zero_grad(self, set_to_none: bool = True) -> None:  # noqa: FBT001, FBT002 - torch's signature
        """Reset the gradients of the wrapped optimizer's parameters."""
        self.optimizer.zero_grad(set_to_none=set_to_none)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Refuse further groups after construction; they would have no tau.

        Raises:
            UsageError: The wrapper is constructed already.
        """
        if hasattr(self, "_tau"):
            raise UsageError(
                "OnlineMerging: parameters cannot be added later; give them to the optimizer before wrapping it"
            )
        super().add_param_group(param_group)

    def state_dict(self) -> dict[str, Any]:
        """Return the wrapped optimizer's state, and what an exact resume needs.

        Tau is stored as its hash only, unless a mask was drawn once; then the masked tau is stored, too.
        """
        return {
            "optimizer": self.optimizer.state_dict(),
            "steps": self.steps,
            "tau_sha256": self._tau_sha256,
            "generators": {str(device): generator.get_state() for device, generator in self._generators.items()},
            "anchors": self._anchors,
            "masked_tau": [pack(tau) for tau in self._tau] if self._has_drawn_mask else None,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Resume from `state_dict`.

        Raises:
            IntegrityError: The state's tau differs from this wrapper's, which was made from other weights.
        """
        if state_dict["tau_sha256"] != self._tau_sha256:
            raise IntegrityError(
                f"OnlineMerging: tau is {self._tau_sha256[:12]}, the checkpoint's is {state_dict['tau_sha256'][:12]}. "
                "Make the wrapper before the checkpoint's weights are loaded, "
                "or give `reference` the weights that the stage started from"
            )
        self.optimizer.load_state_dict(state_dict["optimizer"])
        self.param_groups, self.state = self.optimizer.param_groups, self.optimizer.state
        self.steps = state_dict["steps"]
        for name, state in state_dict["generators"].items():
            self._generator(torch.device(name)).set_state(state.cpu())  # torch.load may have moved it
        if self._has_drawn_mask:
            masked_tau = state_dict["masked_tau"]
            self._tau = [unpack(masked, into) for masked, into in zip(masked_tau, self._tau, strict=True)]
        anchors = state_dict["anchors"]
        parameters = self._parameters()
        self._anchors = anchors and [anchor.to(p.device).clone() for anchor, p in zip(anchors, parameters, strict=True)]


def _ignores_weights(optimizer: torch.optim.Optimizer) -> bool:
    """Tell whether a step depends on the weights only by decoupled decay.

    If so, a step from zero is just the change.
    """
    is_known = type(optimizer) in {torch.optim.AdamW, torch.optim.Adam, torch.optim.SGD}
    groups = optimizer.param_groups
    return is_known and all(not group.get("weight_decay") or _decay(optimizer, group) for group in groups)


def _decay(optimizer: torch.optim.Optimizer, group: Mapping[str, Any]) -> float:
    """Return the share of the weights that decoupled weight decay removes in a step; 0 if it is not decoupled."""
    is_decoupled = isinstance(optimizer, torch.optim.AdamW) or bool(group.get("decoupled_weight_decay", False))
    return float(group["lr"]) * float(group.get("weight_decay", 0.0)) if is_decoupled else 0.0


def _match_weights(
    parameters: list[torch.Tensor], weights: Weights, noun: str, names: Mapping[int, str] | None
) -> list[torch.Tensor]:
    """Return the tensors of `weights` in the order of `parameters`, matched by `names` if known, else by position.

    Raises:
        UsageError: A name is missing, or their number or a shape differs.
    """
    if isinstance(weights, torch.nn.Module):
        weights = dict(weights.named_parameters())
    if isinstance(weights, Mapping) and names is not None:
        parameter_names = [names.get(id(parameter), "") for parameter in parameters]
        absent = [name or "a parameter that `model` does not have" for name in parameter_names if name not in weights]
        if absent:
            raise UsageError(
                f"OnlineMerging: {noun} lacks {absent[0]} and {len(absent) - 1} more of the optimizer's parameters"
            )
        tensors = [weights[name] for name in parameter_names]
    else:
        tensors = list(weights.values() if isinstance(weights, Mapping) else weights)
    if len(tensors) != len(parameters):
        raise UsageError(
            f"OnlineMerging: {noun} has {len(tensors)} tensors, the optimizer has {len(parameters)} parameters. "
            "Give `model`, so that they are matched by name, or just the tensors of these parameters in the "
            "optimizer's order (an adapter needs its own)"
        )
    for place, (parameter, tensor) in enumerate(zip(parameters, tensors, strict=True)):
        if parameter.shape != tensor.shape:
            raise UsageError(
                f"OnlineMerging: tensor {place} of {noun} has shape {tuple(tensor.shape)}, the optimizer's parameter "
                f"{tuple(parameter.shape)}. Give `model`, so that they are matched by name, "
                "or use the optimizer's order"
            )
    return [tensor.detach() for tensor in tensors]


def _require(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise UsageError(f"OnlineMerging: {name}={value!r}.{nearest(value, choices)} It is one of {', '.join(choices)}")


def _sha256(tensors: list[torch.Tensor]) -> str:
    digest = hashlib.sha256()
    for tensor in tensors:
        digest.update(tensor.detach().contiguous().cpu().numpy().tobytes())
    return digest.hexdigest()
