"""Muon: momentum whose matrices are made orthogonal before they are added.

By Keller Jordan: https://kellerjordan.github.io/posts/muon/
"""

from __future__ import annotations

from typing import Iterable

import torch
from torch import Tensor


def orthogonal(matrices: Tensor, steps: int = 5) -> Tensor:
    """About the nearest orthogonal matrix of each, by the Newton-Schulz iteration of the fifth order."""
    tall = matrices.shape[-2] > matrices.shape[-1]
    x = matrices.transpose(-2, -1) if tall else matrices
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(steps):
        square = x @ x.transpose(-2, -1)
        x = 3.4445 * x + (-4.7750 * square + 2.0315 * square @ square) @ x
    return x.transpose(-2, -1) if tall else x


class Muon(torch.optim.Optimizer):
    """For the matrices inside the blocks. `parts` says how many of them a parameter holds, one under the other."""

    def __init__(
        self, params: Iterable[tuple[Tensor, int]], lr: float, momentum: float = 0.95, weight_decay: float = 0.1
    ) -> None:
        groups = [{"params": [param], "parts": parts} for param, parts in params]
        super().__init__(groups, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self) -> None:
        for group in self.param_groups:
            for param in group["params"]:
                state = self.state[param]
                moving = state.setdefault("momentum", torch.zeros_like(param))
                moving.mul_(group["momentum"]).add_(param.grad)
                update = param.grad + group["momentum"] * moving
                split = update.view(group["parts"], -1, param.shape[-1])
                scale = max(1.0, split.shape[1] / split.shape[2]) ** 0.5
                param.mul_(1 - group["lr"] * group["weight_decay"])
                param.add_(orthogonal(split).reshape(param.shape), alpha=-group["lr"] * scale)
