"""The tensorclasses of the exchange; the module's name is part of what a saved directory says."""
from typing import Optional

import torch
from tensordict import tensorclass


@tensorclass
class Point:
    x: torch.Tensor
    y: torch.Tensor
    label: str = "none"


@tensorclass
class Node:
    value: torch.Tensor
    next: Optional["Node"] = None
