"""Recurrent units that can be taken apart, one per file, and layers of them."""

from rote.cells.adapt import as_recurrent
from rote.cells.arithmetic import Arithmetic, Matrices, Plain, centered, repeated, summed, tiled
from rote.cells.attention import AttentionCell
from rote.cells.block import Block
from rote.cells.cell import Cell, Initialization, cells
from rote.cells.delta import DeltaCell
from rote.cells.elman import ElmanCell
from rote.cells.fused import State
from rote.cells.gated_delta import GatedDeltaCell
from rote.cells.gru import GRUCell
from rote.cells.linear_attention import LinearAttentionCell
from rote.cells.lru import LRUCell
from rote.cells.lstm import LSTMCell
from rote.cells.min_gru import MinGRUCell
from rote.cells.min_lstm import MinLSTMCell
from rote.cells.mlstm import MLSTMCell
from rote.cells.nested_lstm import NestedLSTMCell
from rote.cells.peephole_lstm import PeepholeLSTMCell
from rote.cells.recurrent import Recurrent, Unrolled, mask_of, unroll
from rote.cells.rg_lru import RGLRUCell
from rote.cells.rwkv4 import RWKV4Cell
from rote.cells.rwkv7 import RWKV7Cell
from rote.cells.s6 import S6Cell
from rote.cells.slstm import SLSTMCell
from rote.cells.ssd import SSDCell
from rote.cells.stacked import Stacked, run_stacked, stack, stacked_linear, unstack

__all__ = [
    "Arithmetic",
    "AttentionCell",
    "Block",
    "Cell",
    "DeltaCell",
    "ElmanCell",
    "GRUCell",
    "GatedDeltaCell",
    "Initialization",
    "LRUCell",
    "LSTMCell",
    "LinearAttentionCell",
    "MLSTMCell",
    "Matrices",
    "MinGRUCell",
    "MinLSTMCell",
    "NestedLSTMCell",
    "PeepholeLSTMCell",
    "Plain",
    "RGLRUCell",
    "RWKV4Cell",
    "RWKV7Cell",
    "Recurrent",
    "S6Cell",
    "SLSTMCell",
    "SSDCell",
    "Stacked",
    "State",
    "Unrolled",
    "as_recurrent",
    "cells",
    "centered",
    "mask_of",
    "repeated",
    "run_stacked",
    "stack",
    "stacked_linear",
    "summed",
    "tiled",
    "unroll",
    "unstack",
]
