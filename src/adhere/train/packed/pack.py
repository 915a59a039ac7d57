"""Prefix-tree packing: the common beginnings of rows are computed once.

On a CPU that already multiplies matrices at its peak, the only way to train faster is to compute fewer tokens. The rows
of a micro-batch are merged into a tree (a trie over token ids): the system message all rows share, the prompt the
answers of one group share and the words two answers begin with become one path each. The tree is laid out as one flat
sequence without padding; every node carries its depth as position and sees its ancestors and itself only, so each row
is computed as if it stood alone. A node with several children predicts several next tokens from the same logits.

Notation: N nodes of a tree, E completion nodes (one log-prob each), K completion tokens summed over the rows, R rows.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from adhere.errors import UsageError
from adhere.train.settings import Precision

LONG = 2048  # nodes of a tree above which its mask, which grows with their square, is not made

if TYPE_CHECKING:
    import numpy.typing as npt
    import torch
    from transformers import PreTrainedModel

    from adhere.train.packed.attention import Run


class TokenRow(NamedTuple):
    """Holds one row of token ids; only the completion has a loss."""

    prompt: tuple[int, ...]
    completion: tuple[int, ...]


class Tree:
    """Rows merged by their common beginnings. Nodes are numbered so that a parent comes before its children."""

    def __init__(self) -> None:
        self.tokens: list[int] = []  # (N)
        self.depths: list[int] = []  # (N) the position of the node in every row that passes through it
        self.parents: list[int] = []  # (N) -1 for a first token
        self.completions: list[list[int]] = []  # (R) the nodes of each row's completion, in order
        self._child: dict[tuple[int, int], int] = {}

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def lengths(self) -> list[int]:
        """Number of completion tokens of each row (R)."""
        return [len(nodes) for nodes in self.completions]

    def add(self, row: TokenRow) -> None:
        """Merge one row into the tree.

        Raises:
            UsageError: The prompt or the completion has no token, so there is nothing to predict from or to learn.
        """
        if not row.prompt or not row.completion:
            side = "completion" if row.prompt else "prompt"
            raise UsageError(f"A training row needs at least one token in prompt and completion; its {side} has none")
        path = self._walk(-1, row.prompt)
        self.completions.append(self._walk(path[-1], row.completion))

    def _walk(self, node: int, tokens: Sequence[int]) -> list[int]:
        path = []
        for token in tokens:
            child = self._child.get((node, token))
            if child is None:
                child = len(self.tokens)
                self._child[node, token] = child
                self.tokens.append(token)
                self.parents.append(node)
                self.depths.append(self.depths[node] + 1 if node >= 0 else 0)
            node = child
            path.append(node)
        return path

    def fresh(self, row: TokenRow) -> int:
        """Return how many new nodes adding `row` would make."""
        node, tokens = -1, row.prompt + row.completion
        for index, token in enumerate(tokens):
            child = self._child.get((node, token))
            if child is None:
                return len(tokens) - index
            node = child
        return 0

    def sees(self) -> npt.NDArray[np.bool_]:
        """Return which nodes attend to which, (N, N): node i to its ancestors and itself."""
        size = len(self)
        sees = np.zeros((size, size), dtype=np.bool_)
        for node, parent in enumerate(self.parents):
            if parent >= 0:
                sees[node] = sees[parent]
            sees[node, node] = True
        return sees

    def runs(self) -> list[Run]:
        """Return the tree's nodes, in order, as runs in which each node is the child of the one before.

        A run's `sees` has the spans of its ancestors in earlier runs, ends excluded. Attention over a large tree needs
        no more than this.
        """
        from adhere.train.packed.attention import Run

        starts = [node for node, parent in enumerate(self.parents) if parent != node - 1 or node == 0]
        runs: list[Run] = []
        for start, end in zip(starts, [*starts[1:], len(self)], strict=True):
            parent = self.parents[start]
            sees: tuple[tuple[int, int], ...] = ()
            if parent >= 0:
                before = runs[bisect_right(starts, parent) - 1]
                sees = (*before.sees, (before.start, parent + 1))
            runs.append(Run(start, end, sees))
        return runs


class Part(NamedTuple):
    """Holds a micro-batch: a tree, and which of the caller's items it contains, in the order of the tree's rows."""

    tree: Tree
    items: tuple[int, ...]


def grow(rows: Sequence[TokenRow]) -> Tree:
    """Merge all rows into one tree."""
    tree = Tree()
    for row in rows:
        tree.add(row)
    return tree


def cut(items: Sequence[Sequence[TokenRow]], *, tree_tokens: int) -> list[Part]:
    """Cut an optimizer batch into micro-batches of at most `tree_tokens` nodes.

    An item is one or more rows whose loss is computed together (a preference pair) and is never divided; an item larger
    than `tree_tokens` makes a micro-batch of its own. Items are sorted by their tokens, which puts the answers to one
    prompt next to each other, so that cuts lose little sharing.
    """
    return list(_parts(items, tree_tokens))


def _parts(items: Sequence[Sequence[TokenRow]], tree_tokens: int) -> Iterator[Part]:
    tree, places = Tree(), list[int]()
    order = sorted(range(len(items)), key=lambda index: [row.prompt + row.completion for row in items[index]])
    for index in order:
        # Counted row by row: an item whose rows share a beginning is over-counted a little, which only cuts earlier.
        if places and len(tree) + sum(tree.fresh(row) for row in items[index]) > tree_tokens:
            yield Part(tree, tuple(places))
            tree, places = Tree(), []
        for row in items[index]:
            tree.add(row)
        places.append(index)
    if places:
        yield Part(tree, tuple(places))


def log_probs(
    model: PreTrainedModel, tree: Tree, *, temperature: float = 1.0, precision: Precision | None = None
) -> torch.Tensor:
    """Compute the log-probability of every completion token of every row (K), rows one after the other.

    The result equals a forward pass over each row alone, up to rounding. `temperature` divides the logits, so that
    log-probs are those of the distribution that the answers were drawn from. With `precision` bf16, matrix products are
    in bf16 (autocast) and everything after the logits in fp32; None is fp32.
    """
    import torch

    from adhere.train.packed.edges import edge_log_probs

    device = model.device
    nodes = sorted({node for path in tree.completions for node in path})  # (E)
    parents = [tree.parents[node] for node in nodes]  # (E)
    parent_nodes = sorted(set(parents))  # logits are computed here only
    slot_of = {parent: slot for slot, parent in enumerate(parent_nodes)}
    edge_of = {node: edge for edge, node in enumerate(nodes)}

    def indices(values: Sequence[int]) -> torch.Tensor:
        return torch.tensor(values, dtype=torch.long, device=device)

    logits = _logits(model, tree, indices(parent_nodes), precision or "fp32")  # (len(parent_nodes), V)
    slots = indices([slot_of[parent] for parent in parents])
    targets = indices([tree.tokens[node] for node in nodes])
    edges = edge_log_probs(logits, slots, targets, temperature=temperature)  # (E)
    return edges.index_select(0, indices([edge_of[node] for path in tree.completions for node in path]))


def _logits(model: PreTrainedModel, tree: Tree, parent_nodes: torch.Tensor, precision: Precision) -> torch.Tensor:
    import torch

    # use_cache=False: with the default cache a raw forward builds its own causal mask for packed rows.
    with torch.autocast(model.device.type, torch.bfloat16, enabled=precision == "bf16"):
        output = model(**_inputs(model, tree), use_cache=False, logits_to_keep=parent_nodes)
    logits: torch.Tensor = output.logits[0]
    return logits


def _inputs(model: PreTrainedModel, tree: Tree) -> dict[str, Any]:
    """Return the model's inputs for a tree: one row of tokens, their depths as positions, and what each node sees.

    The last is a mask, or runs where a mask would be large.
    """
    import torch

    from adhere.models.local.decoder.weights import windows_of
    from adhere.train.packed.attention import NAMES

    device = model.device
    inputs: dict[str, Any] = {
        "input_ids": torch.tensor([tree.tokens], device=device),
        "position_ids": torch.tensor([tree.depths], device=device),
    }
    windows = set(windows_of(model.config))
    window = min(filter(None, windows), default=math.inf)
    slides = max(tree.depths) >= window
    if len(tree) > LONG and model.config._attn_implementation in NAMES:  # noqa: SLF001 (no public reader)
        if slides:
            raise UsageError(
                f"A row of {max(tree.depths) + 1} tokens is longer than this model's sliding window of {window}, which "
                f"training knows for micro-batches of up to {LONG} tokens only: set tree_tokens to that or less"
            )
        # Given a mask with four dimensions, transformers makes none itself.
        nothing = torch.zeros(1, 1, 1, 1, dtype=model.dtype, device=device)
        return inputs | {"attention_mask": nothing, "tree_runs": tree.runs()}
    sees = torch.from_numpy(tree.sees()).to(device)
    depths = torch.tensor(tree.depths, device=device)

    def mask(visible: torch.Tensor) -> torch.Tensor:
        zeros = torch.zeros(visible.shape, dtype=model.dtype, device=device)
        return zeros.masked_fill_(~visible, torch.finfo(model.dtype).min)[None, None]

    if not slides:
        return inputs | {"attention_mask": mask(sees)}
    near = mask(sees & (depths[:, None] - depths < window))
    # A model with layers of both kinds takes a mask of each.
    every = {"full_attention": mask(sees), "sliding_attention": near} if None in windows else near
    return inputs | {"attention_mask": every}


def hidden_states(
    model: PreTrainedModel, tree: Tree, nodes: Sequence[int], *, precision: Precision | None = None
) -> torch.Tensor:
    """Return the last layer's output for some nodes, (len(nodes), width) in fp32, as a reward head reads it."""
    import torch

    device = model.device
    with torch.autocast(device.type, torch.bfloat16, enabled=precision == "bf16"):
        output = model.base_model(**_inputs(model, tree), use_cache=False)
    states: torch.Tensor = output.last_hidden_state[0].float()
    return states.index_select(0, torch.tensor(nodes, dtype=torch.long, device=device))


def row_sums(values: torch.Tensor, tree: Tree) -> torch.Tensor:
    """Add up per-token values (K) over each row (R)."""
    import torch

    return torch.stack([part.sum() for part in torch.split(values, tree.lengths)])
