"""A user's own modules as a model that every analysis takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, overload

from torch import nn

from rote.cells import as_recurrent
from rote.cells.adapt import refuse_computed, refuse_own_forward, unwrapped
from rote.errors import UsageError
from rote.models.comparison import Like, compare
from rote.models.readout import PerStep, check_readout
from rote.models.sequence import SequenceModel

if TYPE_CHECKING:
    from rote.models.traced.build import TracedModel
    from rote.models.traced.own_forward import OwnForward

NOT_COMPARED = "not compared with your model: give like=..."


@overload
def adapt(
    model: nn.Module, /, *, example: Any = None, call: Callable[..., Any] | None = None
) -> TracedModel | OwnForward: ...


@overload
def adapt(
    *,
    recurrent: nn.Module | None = None,
    embedding: nn.Embedding | None = None,
    readout: nn.Module | None = None,
    like: Like | None = None,
    example: Any = None,
) -> SequenceModel: ...


def adapt(
    model: nn.Module | None = None,
    /,
    *,
    recurrent: nn.Module | None = None,
    embedding: nn.Embedding | None = None,
    readout: nn.Module | None = None,
    like: Like | None = None,
    example: Any = None,
    call: Callable[..., Any] | None = None,
) -> SequenceModel | OwnForward:
    """A user's model as one that every analysis takes. Shares its weights; changes nothing on it.

    - model: your whole module. Its forward pass is followed once, and what it does becomes stages of cells: embedding
      (scaled, with positions), norms, projections, activations, residual sums, convolutions over time, recurrent layers
      of torch, of Rote or of Hugging Face in any number and size, cells in a loop, learned initial states, packed
      sequences, readouts at every step, at the last one or of a mean. What was found is printed by its ``repr``, and
      its outputs are compared with the module's own at once: what does not agree is refused. What cannot be taken
      apart is looked at through its own forward, and says why.
    - example: what the module is called with, tokens [batch, time] or vectors [batch, time, input], or all of its
      arguments, (tokens, lengths), or what a tokenizer of Hugging Face gives; by default tokens that are made from its
      embedding.
    - call: how it is called, if not simply so: ``lambda model, tokens: model(tokens, None)[1]``.

    >>> import torch, rote
    >>> class Tagger(torch.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.words, self.norm = torch.nn.Embedding(100, 8), torch.nn.LayerNorm(16)
    ...         self.lstm, self.tags = torch.nn.LSTM(8, 16, batch_first=True), torch.nn.Linear(16, 5)
    ...
    ...     def forward(self, tokens):
    ...         return self.tags(self.norm(self.lstm(self.words(tokens))[0]))
    >>> model = rote.adapt(Tagger(), example=torch.tensor([[1, 2, 3], [4, 5, 6]]))
    >>> rote.decompose(model, torch.tensor([[1, 2, 3]]), spans=[(0, 1)]).logits().shape
    torch.Size([1, 1, 3, 5])

    Or its parts, by keyword:

    - recurrent: an nn.RNN, nn.LSTM or nn.GRU as it is (layers, directions, projection, with or without bias), or a
      ``rote.cells.Recurrent``.
    - embedding: without one the inputs are vectors [batch, time, input].
    - readout: an nn.Linear, or any module that acts on each step by itself, such as nn.Sequential(norm, linear).
      Without one the outputs are the top layer's hidden states.
    - like: your whole module, or any function from inputs to outputs. Both are compared on an example at once, and what
      does not agree is refused: a norm, a scaling or an initial state that no part contains.
    - example: inputs to compare on, by default some that are made from the sizes.

    What torch.compile, DataParallel and the like have wrapped is unwrapped.

    >>> import torch, rote
    >>> lstm, table = torch.nn.LSTM(8, 16, batch_first=True), torch.nn.Embedding(100, 8)
    >>> linear = torch.nn.Linear(16, 100)
    >>> def whole(tokens):
    ...     return linear(lstm(table(tokens))[0])
    >>> model = rote.adapt(recurrent=lstm, embedding=table, readout=linear, like=whole)
    >>> rote.trace(model, torch.tensor([[1, 2, 3]])).logits.shape
    torch.Size([1, 3, 100])
    """
    if model is not None:
        if any(part is not None for part in (recurrent, embedding, readout, like)):
            raise UsageError("rote.adapt() takes a whole model, or its parts by keyword. Got both: leave one out.")
        from rote.models.traced.whole import adapt_whole

        return adapt_whole(model, example, call)
    if call is not None:
        raise UsageError("'call' says how a whole model is called: rote.adapt(model, example=..., call=...).")
    if example is not None and like is None:
        raise UsageError("'example' is what the model is compared with 'like' on: give like=... too, or leave it out.")
    embedding, readout = unwrapped(embedding), unwrapped(readout)
    if embedding is not None:
        if not isinstance(embedding, nn.Embedding):
            raise UsageError(f"'embedding' must be an nn.Embedding or None. Got {type(embedding).__name__}.")
        refuse_own_forward("embedding", embedding, nn.Embedding, "Leave it out and give the vectors that it makes.")
        refuse_computed("embedding", {"weight": embedding.weight})
    if readout is not None and not isinstance(readout, nn.Module):
        raise UsageError(f"'readout' must be an nn.Module or None. Got {type(readout).__name__}.")
    made = SequenceModel(as_recurrent(recurrent), embedding, readout)
    if isinstance(made.readout, PerStep):
        made.check_weights()
        check_readout(made.readout, made.zeros, made.recurrent.output_size)
    made.origin = NOT_COMPARED
    if like is not None:
        found = compare(made, like, example)
        if not found.agrees:
            raise UsageError(found.explained())
        made.origin = str(found)
    return made
