"""Small models of Hugging Face's classes, of sizes that a random number draws."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from random import Random
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import transformers

transformers.logging.set_verbosity_error()
WORDS = 20
Draw = Callable[[Random], dict[str, Any]]


def attention(draw: Random) -> dict[str, Any]:
    heads, groups = draw.choice([(1, 1), (2, 1), (4, 2), (3, 3)])
    return {"num_attention_heads": heads, "num_key_value_heads": groups}


def mamba(draw: Random) -> dict[str, Any]:
    sizes = {"hidden_size": draw.choice([6, 11, 16]), "num_hidden_layers": draw.randint(1, 3)}
    own = {"state_size": draw.randint(1, 5), "conv_kernel": draw.randint(2, 4), "time_step_rank": draw.randint(1, 3)}
    return sizes | own | {"residual_in_fp32": draw.random() < 0.5, "tie_word_embeddings": draw.random() < 0.5}


def mamba2(draw: Random) -> dict[str, Any]:
    heads, groups = draw.choice([(2, 1), (4, 2), (4, 4), (3, 1)])
    size = draw.choice([2, 4])
    sizes = {"hidden_size": heads * size, "num_hidden_layers": draw.randint(1, 2), "num_heads": heads}
    own = {"head_dim": 2 * size, "n_groups": groups, "state_size": draw.randint(2, 5), "chunk_size": draw.randint(2, 5)}
    return sizes | own | {"conv_kernel": draw.randint(2, 4)}


def rwkv(draw: Random) -> dict[str, Any]:
    sizes = {"hidden_size": draw.choice([7, 10, 16]), "num_hidden_layers": draw.randint(2, 3)}
    return sizes | {"intermediate_size": draw.choice([9, 20]), "context_length": 32, "rescale_every": 0}


def xlstm(draw: Random) -> dict[str, Any]:
    sizes = {"hidden_size": draw.choice([32, 64]), "num_hidden_layers": draw.randint(1, 2)}
    own = {"num_heads": draw.choice([2, 4]), "chunk_size": draw.choice([4, 8])}
    return sizes | own


def recurrent_gemma(draw: Random) -> dict[str, Any]:
    shared, size = attention(draw), 2 * draw.choice([2, 4])
    width = shared["num_attention_heads"] * size
    kinds = draw.choice([("recurrent",), ("recurrent", "attention"), ("attention", "recurrent")])
    sizes = {"hidden_size": width, "lru_width": width, "num_hidden_layers": draw.randint(1, 3), "head_dim": size}
    own = {"block_types": kinds, "sliding_window": draw.choice([3, 40]), "attention_bias": draw.random() < 0.5}
    return shared | sizes | own | {"intermediate_size": 2 * draw.randint(4, 12)}


def qwen3_next(draw: Random) -> dict[str, Any]:
    kinds = [draw.choice(["linear_attention", "full_attention"]) for _ in range(draw.randint(1, 3))]
    keys, shared = draw.choice([(1, 1), (2, 1), (2, 2), (1, 3)])
    sizes = {"hidden_size": draw.choice([10, 16]), "num_hidden_layers": len(kinds), "layer_types": kinds, "head_dim": 8}
    delta = {"linear_num_key_heads": keys, "linear_num_value_heads": keys * shared}
    delta |= {"linear_key_head_dim": draw.randint(2, 5), "linear_value_head_dim": draw.randint(2, 5)}
    own = {"linear_conv_kernel_dim": draw.randint(2, 4), "attention_bias": draw.random() < 0.5, "num_experts": 0}
    return attention(draw) | sizes | delta | own | {"intermediate_size": draw.randint(8, 24)}


def gpt2(draw: Random) -> dict[str, Any]:
    heads = draw.choice([1, 2, 3])
    sizes = {"n_embd": heads * draw.choice([3, 5, 8]), "n_layer": draw.randint(1, 3), "n_head": heads}
    own = {"scale_attn_by_inverse_layer_idx": draw.random() < 0.5, "scale_attn_weights": draw.random() < 0.5}
    return sizes | own | {"n_positions": 32, "tie_word_embeddings": draw.random() < 0.5}


ROPES: list[dict[str, Any]] = [
    {"rope_type": "default", "rope_theta": 100.0},
    {"rope_type": "linear", "rope_theta": 100.0, "factor": 3.0},
    {"rope_type": "yarn", "rope_theta": 100.0, "factor": 4.0, "original_max_position_embeddings": 8},
    {"rope_type": "llama3", "rope_theta": 100.0, "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
     "original_max_position_embeddings": 8},
]  # fmt: skip


def llama(draw: Random) -> dict[str, Any]:
    shared, size = attention(draw), 2 * draw.randint(2, 4)
    sizes = {"hidden_size": shared["num_attention_heads"] * size, "num_hidden_layers": draw.randint(1, 3)}
    own = {"head_dim": draw.choice([size, 6]), "intermediate_size": draw.randint(8, 24)}
    biases = {"attention_bias": draw.random() < 0.5, "mlp_bias": draw.random() < 0.5}
    return shared | sizes | own | biases | {"rope_parameters": draw.choice(ROPES)}


DRAWS: dict[str, Draw] = {
    "Mamba": mamba, "FalconMamba": mamba, "Mamba2": mamba2, "Rwkv": rwkv, "xLSTM": xlstm,
    "RecurrentGemma": recurrent_gemma, "Qwen3Next": qwen3_next, "GPT2": gpt2, "Llama": llama,
}  # fmt: skip


def model_of(kind: str, **options: Any) -> nn.Module:
    """A model of this class, with biases and norms that are not 0 or 1."""
    torch.manual_seed(0)
    config = getattr(transformers, f"{kind}Config")(vocab_size=WORDS, **options)
    model: nn.Module = getattr(transformers, kind + ("LMHeadModel" if kind == "GPT2" else "ForCausalLM"))(config)
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.1 * torch.randn_like(weight))
    return model.eval()


def drawn(kind: str, number: int) -> nn.Module:
    return model_of(kind, **DRAWS[kind](Random(f"{kind} {number}")))


def tokens(time: int = 7) -> Tensor:
    return torch.randint(1, WORDS, (3, time), generator=torch.Generator().manual_seed(time))


class Lifted(TorchFunctionMode):
    """The modules' own casts to float32 do nothing in a model of float64."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if getattr(function, "__name__", "") == "float":
            return args[0].double()
        args = tuple(torch.float64 if arg is torch.float32 else arg for arg in args)
        kwargs = {name: torch.float64 if value is torch.float32 else value for name, value in (kwargs or {}).items()}
        return function(*args, **kwargs)
