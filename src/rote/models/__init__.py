"""Networks built for the studies, and the form in which analyses see a recurrent model."""

from typing import TYPE_CHECKING

from rote.lazy import lazily

if TYPE_CHECKING:
    from rote.models.adapted import adapt
    from rote.models.architecture import Architecture, architectures
    from rote.models.autocomplete import AutocompleteModel
    from rote.models.blocks import BlocksConfig
    from rote.models.capabilities import capabilities_of
    from rote.models.cnn import CNN
    from rote.models.encoder_decoder import EncoderDecoder
    from rote.models.kneser_ney import KneserNey
    from rote.models.language_model import StackedLanguageModel
    from rote.models.mlp import StackedMLP
    from rote.models.padding import right_padded
    from rote.models.pretrained import load_pretrained
    from rote.models.readout import Readout
    from rote.models.saved_autocomplete import autocomplete_record, load_autocomplete, save_autocomplete
    from rote.models.saved_characters import characters_record, load_characters
    from rote.models.sequence import SequenceModel
    from rote.models.settings import (
        AutocompleteConfig,
        CNNConfig,
        EncoderDecoderConfig,
        LanguageModelConfig,
        MLPConfig,
        SoftmaxConfig,
        TextModelConfig,
        TranslatorConfig,
        WindowConfig,
        WordAverageConfig,
    )
    from rote.models.simple_recurrent import StackedSRN
    from rote.models.text import TextModel
    from rote.models.transformer import TransformerConfig, TransformerLanguageModel
    from rote.models.translator import StackedTranslator
    from rote.models.window import WindowModel
    from rote.models.word_average import WordAverage

__all__ = [
    "CNN",
    "Architecture",
    "AutocompleteConfig",
    "AutocompleteModel",
    "BlocksConfig",
    "CNNConfig",
    "EncoderDecoder",
    "EncoderDecoderConfig",
    "KneserNey",
    "LanguageModelConfig",
    "MLPConfig",
    "Readout",
    "SequenceModel",
    "SoftmaxConfig",
    "StackedLanguageModel",
    "StackedMLP",
    "StackedSRN",
    "StackedTranslator",
    "TextModel",
    "TextModelConfig",
    "TransformerConfig",
    "TransformerLanguageModel",
    "TranslatorConfig",
    "WindowConfig",
    "WindowModel",
    "WordAverage",
    "WordAverageConfig",
    "adapt",
    "architectures",
    "autocomplete_record",
    "capabilities_of",
    "characters_record",
    "load_autocomplete",
    "load_characters",
    "load_pretrained",
    "right_padded",
    "save_autocomplete",
]
__getattr__ = lazily(
    __name__,
    {
        "Architecture": "architecture",
        "AutocompleteConfig": "settings",
        "AutocompleteModel": "autocomplete",
        "BlocksConfig": "blocks",
        "CNN": "cnn",
        "CNNConfig": "settings",
        "EncoderDecoder": "encoder_decoder",
        "EncoderDecoderConfig": "settings",
        "KneserNey": "kneser_ney",
        "LanguageModelConfig": "settings",
        "MLPConfig": "settings",
        "Readout": "readout",
        "SequenceModel": "sequence",
        "SoftmaxConfig": "settings",
        "StackedLanguageModel": "language_model",
        "StackedMLP": "mlp",
        "StackedSRN": "simple_recurrent",
        "StackedTranslator": "translator",
        "TextModel": "text",
        "TextModelConfig": "settings",
        "TransformerConfig": "transformer",
        "TransformerLanguageModel": "transformer",
        "TranslatorConfig": "settings",
        "WindowConfig": "settings",
        "WindowModel": "window",
        "WordAverage": "word_average",
        "WordAverageConfig": "settings",
        "adapt": "adapted",
        "architectures": "architecture",
        "capabilities_of": "capabilities",
        "autocomplete_record": "saved_autocomplete",
        "characters_record": "saved_characters",
        "load_autocomplete": "saved_autocomplete",
        "load_characters": "saved_characters",
        "load_pretrained": "pretrained",
        "right_padded": "padding",
        "save_autocomplete": "saved_autocomplete",
    },
)
