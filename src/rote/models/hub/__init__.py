"""Hugging Face's recurrent layers as cells, one file for each family of models. None of them imports transformers."""
