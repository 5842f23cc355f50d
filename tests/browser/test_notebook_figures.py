"""A notebook that draws results, executed and made into a page as users do, and looked at without a network."""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from watched_page import Watched

pytest.importorskip("nbconvert", reason="notebooks are executed with nbconvert: pip install 'rote[test]'")
pytest.importorskip("ipykernel", reason="notebooks are executed with ipykernel: pip install 'rote[test]'")
pytestmark = pytest.mark.browser

CELLS = [
    """
import torch, rote
names = ["<pad>", " ", "cats", "purr"]
model = rote.adapt(
    recurrent=torch.nn.GRU(3, 4, batch_first=True), embedding=torch.nn.Embedding(4, 3), readout=torch.nn.Linear(4, 4)
)
tokens = torch.tensor([[2, 1, 3]])
""",
    "rote.connectivity(model, tokens).figure(names)",
    "rote.trace(model, tokens).figure(names)",
    "rote.connectivity(model, tokens)",  # a result shows itself
]


@pytest.fixture
def page_of_notebook(tmp_path: Path) -> Path:
    """What ``jupyter nbconvert --execute --to html`` makes of the cells."""
    empty = {"metadata": {}, "outputs": [], "execution_count": None, "cell_type": "code"}
    cells = [{**empty, "id": f"cell-{number}", "source": source.strip()} for number, source in enumerate(CELLS)]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python", "language": "python"}}
    notebook = {"nbformat": 4, "nbformat_minor": 5, "metadata": kernel, "cells": cells}
    (tmp_path / "figures.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    scripts = ("require_js_url", "mathjax_url", "jquery_url", "mermaid_js_url")  # of its page, from the network
    command = [sys.executable, "-m", "nbconvert", "--execute", "--to", "html", "figures.ipynb"]
    folders = {name: str(tmp_path / name) for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR")}
    done = subprocess.run(
        [*command, *(f"--HTMLExporter.{name}=" for name in scripts)],
        cwd=tmp_path, env={**os.environ, **folders}, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return tmp_path / "figures.html"


def test_figures_are_seen_in_the_page_of_an_executed_notebook_with_the_tokens_on_their_axes(
    page_of_notebook: Path, opened: Callable[..., Watched]
) -> None:
    pictures = opened(page_of_notebook).page.locator(".jp-OutputArea-output img")
    assert pictures.count() == len(CELLS) - 1
    for place, source in enumerate(CELLS[1:]):
        width, height, alt, address = pictures.nth(place).evaluate(
            "async picture => { await picture.decode(); "
            "return [picture.naturalWidth, picture.naturalHeight, picture.alt, picture.src] }"
        )
        assert width > 50, source
        assert height > 50, source
        assert alt, source
        drawn = base64.b64decode(address.partition("base64,")[2]).decode()
        assert ({"cats", "␣", "purr"} <= set(re.findall(r">([^<>]+)</text>", drawn))) == ("names" in source), source
