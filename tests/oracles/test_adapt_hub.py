"""Hugging Face's models: whole where their layers are known, through their own forward where not."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

import rote
from rote.errors import UsageError
from rote.models.traced.build import TracedModel
from rote.models.traced.own_forward import OwnForward
from rote.testing import untouched

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import transformers

pytestmark = pytest.mark.filterwarnings("ignore")
transformers.logging.set_verbosity_error()
WORDS = 20


def config(kind: str, **options: Any) -> Any:
    return getattr(transformers, f"{kind}Config")(vocab_size=WORDS, **options)


SMALL = {"hidden_size": 16, "num_hidden_layers": 2}
MAKERS: dict[str, Callable[[], nn.Module]] = {
    "mamba": lambda: transformers.MambaForCausalLM(config("Mamba", **SMALL, state_size=4)),
    "mamba-deep": lambda: transformers.MambaForCausalLM(
        config("Mamba", hidden_size=12, num_hidden_layers=3, state_size=3, conv_kernel=3, time_step_rank=2)
    ),
    "mamba2": lambda: transformers.Mamba2ForCausalLM(
        config("Mamba2", **SMALL, state_size=4, num_heads=4, head_dim=8, n_groups=1, chunk_size=4)
    ),
    "rwkv": lambda: transformers.RwkvForCausalLM(config("Rwkv", **SMALL, intermediate_size=20, context_length=32)),
    "rwkv-deep": lambda: transformers.RwkvForCausalLM(
        config("Rwkv", hidden_size=10, num_hidden_layers=3, context_length=32, rescale_every=0)
    ),
    "xlstm": lambda: transformers.xLSTMForCausalLM(
        config("xLSTM", hidden_size=128, num_hidden_layers=1, num_heads=2, chunk_size=8)
    ),
    "recurrent_gemma": lambda: transformers.RecurrentGemmaForCausalLM(
        config(
            "RecurrentGemma",
            **SMALL,
            block_types=("recurrent",),
            intermediate_size=24,
            num_attention_heads=2,
            num_key_value_heads=1,
            lru_width=16,
            attention_window_size=8,
        )
    ),
}
OTHERS: dict[str, Callable[[], nn.Module]] = {
    "falcon_mamba": lambda: transformers.FalconMambaForCausalLM(config("FalconMamba", **SMALL, state_size=4)),
    "mamba2-groups": lambda: transformers.Mamba2ForCausalLM(
        config("Mamba2", **SMALL, state_size=4, num_heads=4, head_dim=8, n_groups=2, chunk_size=4)
    ),
    "recurrent_gemma-attention": lambda: transformers.RecurrentGemmaForCausalLM(
        config(
            "RecurrentGemma", hidden_size=16, num_hidden_layers=3, intermediate_size=24, num_attention_heads=2,
            num_key_value_heads=1, lru_width=16, attention_window_size=8,
        )
    ),
    "qwen3_next": lambda: transformers.Qwen3NextForCausalLM(
        config(
            "Qwen3Next", **SMALL, intermediate_size=32, num_attention_heads=2, num_key_value_heads=1, head_dim=8,
            linear_num_key_heads=2, linear_num_value_heads=4, linear_key_head_dim=4, linear_value_head_dim=4,
            num_experts=0, mlp_only_layers=[0, 1],
        )
    ),
    "gpt2": lambda: transformers.GPT2LMHeadModel(config("GPT2", n_embd=16, n_layer=2, n_head=2, n_positions=32)),
    "llama": lambda: transformers.LlamaForCausalLM(
        config("Llama", **SMALL, intermediate_size=32, num_attention_heads=2, num_key_value_heads=1)
    ),
}  # fmt: skip


def made(maker: Callable[[], nn.Module]) -> nn.Module:
    torch.manual_seed(0)
    model = maker()
    with torch.no_grad():
        for weight in model.parameters():  # biases and norms that are not 0 or 1
            weight.add_(0.1 * torch.randn_like(weight))
    return model


def tokens(time: int = 7) -> Tensor:
    return torch.randint(0, WORDS, (3, time), generator=torch.Generator().manual_seed(1))


class Lifted(TorchFunctionMode):
    """The modules' own casts to float32 do nothing in a model of float64."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if getattr(function, "__name__", "") == "float":
            return args[0].double()
        args = tuple(torch.float64 if arg is torch.float32 else arg for arg in args)
        kwargs = {name: torch.float64 if value is torch.float32 else value for name, value in (kwargs or {}).items()}
        return function(*args, **kwargs)


@pytest.mark.parametrize("name", MAKERS)
def test_known_models_are_whole_and_give_the_same_logits(name: str) -> None:
    model = made(MAKERS[name])
    with untouched(model):
        adapted = rote.adapt(model, example=tokens())
    assert isinstance(adapted, TracedModel), adapted
    other = tokens(11)
    with torch.no_grad():
        expected = model.eval()(other, use_cache=False).logits
        torch.testing.assert_close(adapted.eval()(other), expected, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("name", MAKERS)
def test_with_their_casts_lifted_logits_gradients_and_parts_are_exact(name: str) -> None:
    model = made(MAKERS[name]).double().eval()
    given = tokens(5)
    with Lifted():
        adapted = rote.adapt(model, example=given)
        with torch.no_grad():
            expected = model(given, use_cache=False).logits
        through = rote.connectivity(model, given, causal=True).values
    exact = 1e-6 if name == "xlstm" else 1e-9  # a state of it is made in float32
    torch.testing.assert_close(rote.trace(adapted, given).logits, expected, atol=exact, rtol=exact)
    reach = rote.connectivity(adapted, given)
    torch.testing.assert_close(reach.values, through, atol=10 * exact, rtol=10 * exact)
    parts = rote.decompose(adapted, given, spans=[(1, 2), (0, 4)], gates="whole", bias="in_span")
    assert float(parts.error.max()) < 1e-9
    assert not parts.irrelevant[:, 1].any()


@pytest.mark.parametrize("name", OTHERS)
def test_other_models_are_connected_through_their_own_forward(name: str) -> None:
    model = made(OTHERS[name])
    with untouched(model):
        adapted = rote.adapt(model, example=tokens())
        reach = rote.connectivity(adapted, tokens())
    assert isinstance(adapted, OwnForward)
    assert reach.values.shape == (3, 7, 7)
    assert float(reach.error.max()) < 1e-3
    assert float(reach.values.triu(1).max()) < 1e-6 * float(reach.values.max())
    with pytest.raises(UsageError, match=r"rote.decompose needs 'arithmetic'.*It was not taken apart because of"):
        rote.decompose(adapted, tokens(), spans=[(0, 1)])


def test_rwkv_is_refused_before_it_divides_its_weights() -> None:
    model = transformers.RwkvForCausalLM(config("Rwkv", hidden_size=8, num_hidden_layers=7, context_length=32))
    before = [weight.clone() for weight in model.parameters()]
    with pytest.raises(UsageError, match=r"model\.config.rescale_every = 0"):
        rote.adapt(model, example=tokens())
    assert all(torch.equal(one, two) for one, two in zip(before, model.parameters(), strict=True))
    model.config.rescale_every = 0
    assert isinstance(rote.adapt(model, example=tokens()), TracedModel)


def test_blocks_that_are_alike_are_one_line() -> None:
    lines = repr(rote.adapt(made(MAKERS["mamba-deep"]), example=tokens())).splitlines()
    assert [line.strip() for line in lines] == [
        "TracedModel(",
        "embedding: 20 symbols as vectors of 12",
        "backbone.layers.0.norm: root mean square norm",
        "backbone.layers.0.norm: scaled",
        "backbone.layers.0.mixer: S6Cell, 12 -> 12",
        "backbone.layers.0: sum",
        "backbone.layers.1: as the one before",
        "backbone.layers.2: as the one before",
        "backbone.norm_f: root mean square norm",
        "backbone.norm_f: scaled",
        "lm_head: linear map, 12 -> 20",
        lines[-2].strip(),
        ")",
    ]
