"""The network: llama's blocks (RMSNorm, rotary positions in adjacent pairs, SwiGLU), embeddings tied."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F


@dataclass(frozen=True)
class Shape:
    vocabulary: int
    hidden: int = 128
    layers: int = 6
    heads: int = 4
    ffn: int = 384
    context: int = 2048
    rope_base: float = 10_000.0
    epsilon: float = 1e-5

    def as_dict(self) -> dict[str, float]:
        return asdict(self)


class Norm(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(shape.hidden))
        self.epsilon = shape.epsilon

    def forward(self, x: Tensor) -> Tensor:
        x = x.float()
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.epsilon) * self.weight


class Block(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        hidden, ffn = shape.hidden, shape.ffn
        self.heads = shape.heads
        self.attn_norm = Norm(shape)
        self.attn_qkv = nn.Linear(hidden, 3 * hidden, bias=False)
        self.attn_output = nn.Linear(hidden, hidden, bias=False)
        self.ffn_norm = Norm(shape)
        self.ffn_gate_up = nn.Linear(hidden, 2 * ffn, bias=False)
        self.ffn_down = nn.Linear(ffn, hidden, bias=False)

    def forward(self, x: Tensor, turns: tuple[Tensor, Tensor], mask: Tensor) -> Tensor:
        batch, length, hidden = x.shape
        split = (batch, length, self.heads, hidden // self.heads)
        q, k, v = self.attn_qkv(self.attn_norm(x)).split(hidden, dim=-1)
        q = rotate(q.view(split), turns).transpose(1, 2)
        k = rotate(k.view(split), turns).transpose(1, 2)
        scores = (q / math.sqrt(split[3])) @ k.transpose(2, 3) + mask
        seen = scores.softmax(-1).to(v.dtype) @ v.view(split).transpose(1, 2)
        x = x + self.attn_output(seen.transpose(1, 2).reshape(x.shape))
        gate, up = self.ffn_gate_up(self.ffn_norm(x)).chunk(2, dim=-1)
        return x + self.ffn_down(F.silu(gate) * up)


def rotate(x: Tensor, turns: tuple[Tensor, Tensor]) -> Tensor:
    cos, sin = turns
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1).flatten(-2)


class Model(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.embedding = nn.Embedding(shape.vocabulary, shape.hidden)
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        self.norm = Norm(shape)
        nn.init.normal_(self.embedding.weight, std=0.02)
        for block in self.blocks:
            for part in (block.attn_qkv, block.ffn_gate_up):
                nn.init.normal_(part.weight, std=shape.hidden**-0.5)
            for part in (block.attn_output, block.ffn_down):
                nn.init.normal_(part.weight, std=part.in_features**-0.5 / math.sqrt(2 * shape.layers))

    def forward(self, tokens: Tensor, positions: Tensor, conversations: Tensor, wanted: Tensor | None = None) -> Tensor:
        """Logits. A token sees the tokens before it of its own conversation, and of 0; several may share a row."""
        head = self.shape.hidden // self.shape.heads
        pace = self.shape.rope_base ** (-torch.arange(0, head, 2).float() / head)
        angles = positions[:, :, None, None].float() * pace
        turns = (angles.cos().to(torch.bfloat16), angles.sin().to(torch.bfloat16))
        same = (conversations[:, :, None] == conversations[:, None, :]) | (conversations[:, None, :] == 0)
        mask = torch.zeros(same.shape, dtype=torch.bfloat16)
        mask.masked_fill_(~same.tril(), -1e9)
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x, turns, mask[:, None])
        return F.linear(self.norm(x if wanted is None else x[wanted]), self.embedding.weight)
