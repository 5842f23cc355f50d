"""A table's figure as Vega-Lite JSON, and as PNG, SVG and PDF files without a browser or a network."""

from __future__ import annotations

import base64
import html
import io
import json
import re
import struct
from importlib.metadata import version
from typing import Any, Literal, get_args

import altair as alt

from rote.errors import RoteError, UsageError
from rote.figures.figure import Figure, draw
from rote.figures.style import Theme
from rote.store import Table

Format = Literal["json", "svg", "png", "pdf", "html"]
Picture = Literal["png", "svg", "pdf"]
PICTURES: tuple[Picture, ...] = get_args(Picture)
DRAWN_BY = f"vl-convert-python {version('vl-convert-python')}"
SCALE = 2.0  # pixels per unit of length of a PNG
COMPACT = 1.4  # of one that a repository keeps
LARGEST = 5e7  # square units of a picture: 800 MB as pixels
# The version that Altair writes, so that what is written, exported and shown is the same.
VEGA_LITE = ".".join(alt.SCHEMA_VERSION.lstrip("v").split(".")[:2])
FORMATS: tuple[Format, ...] = get_args(Format)


def spec(drawn: Table | Figure, on: Theme = "light") -> dict[str, Any]:
    """The Vega-Lite specification of a table's figure, with its data and its theme: all that a Vega editor needs."""
    figure = draw(drawn) if isinstance(drawn, Table) else drawn
    return figure.spec(on)


def export(drawn: Table | Figure, format: Format, on: Theme = "light", scale: float = SCALE) -> bytes:
    """The file of a table's figure. ``scale`` is the number of pixels per unit of length of a PNG."""
    if format not in FORMATS:
        raise UsageError(f"A figure is exported as one of {', '.join(FORMATS)}. Got {format!r}.")
    if format == "json":
        return to_json(spec(drawn, on)).encode() + b"\n"
    if format == "html":
        return _page(spec(drawn, on)).encode()
    return _converted(_svg(drawn, on), format, scale)


def still(drawn: Table | Figure) -> str:
    """The figure as an HTML image: for a notebook, with no script and no network."""
    figure = draw(drawn) if isinstance(drawn, Table) else drawn
    return _image(figure, _svg(figure, "light"))


def bundle(figure: Figure) -> tuple[dict[str, str], dict[str, Any]]:
    """What a notebook keeps of a figure, by MIME type, and the size of its PNG, for those that show no HTML."""
    svg = _svg(figure, "light")
    png = _indexed(svg)
    width, height = struct.unpack(">II", png[16:24])
    data = {
        "text/html": _image(figure, svg),
        "image/png": base64.b64encode(png).decode(),
        "text/plain": figure.description,
    }
    return data, {"image/png": {"width": round(width / SCALE), "height": round(height / SCALE)}}


def _image(figure: Figure, svg: str) -> str:
    picture = base64.b64encode(svg.encode()).decode()
    return f'<img alt="{html.escape(figure.description)}" src="data:image/svg+xml;base64,{picture}">'


def _page(spec: dict[str, Any]) -> str:
    """The figure to move over and click on: one file that opens without a network."""
    title = html.escape(spec.get("description", "") or "Figure")
    # A text inside a script must not end it.
    data, program = (script.replace("</script", "<\\/script") for script in (to_json(spec), vega_bundle()))
    return (
        f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>{title}</title>\n<div id="figure"></div>\n'
        f"<script>{program}</script>\n"
        f'<script>vegaEmbed("#figure", {data}, {{actions: false}});</script>\n</html>\n'
    )


def render(drawn: Table | Figure, on: Theme = "light") -> dict[Picture, bytes]:
    """All pictures of a figure, small enough to keep by the hundred; Vega draws it once."""
    svg = _svg(drawn, on)
    return {kind: _indexed(svg) if kind == "png" else _converted(svg, kind, SCALE) for kind in PICTURES}


def compact_png(drawn: Table | Figure, on: Theme = "light") -> bytes:
    """A picture that is small enough for a repository."""
    return _indexed(_svg(drawn, on), COMPACT)


def _indexed(svg: str, scale: float = SCALE) -> bytes:
    """A PNG of at most 256 colors: a sixth of the size, and a chart rarely has more that the eye could tell apart."""
    from PIL import Image

    full, small = Image.open(io.BytesIO(_converted(svg, "png", scale))), io.BytesIO()
    full.convert("RGB").quantize(256, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE).save(
        small, "PNG", optimize=True
    )
    return small.getvalue()


def _svg(drawn: Table | Figure, on: Theme) -> str:
    # Here, because it starts a JavaScript engine, which a caller who only wants specifications does not need.
    import vl_convert

    try:
        svg = vl_convert.vegalite_to_svg(to_json(spec(drawn, on)), VEGA_LITE, allowed_base_urls=[])
    except ValueError as error:
        first_lines = " ".join(str(error).splitlines()[:2])
        raise RoteError(f"The figure cannot be drawn. {first_lines}") from error
    width, height = size_of(svg)
    if not width * height <= LARGEST:  # the program that makes pixels of it would end, and all of Python with it
        raise RoteError(f"The figure cannot be drawn: its data make it {width:.3g} wide and {height:.3g} high.")
    return _renumbered(svg)


def size_of(svg: str) -> tuple[float, float]:
    """Width and height in the SVG's first tag."""
    tag = svg[: svg.find(">", svg.find("<svg"))]
    found = {name: float(value) for name, value in re.findall(r'\b(width|height)="([\d.e+-]+)', tag)}
    return found.get("width", 640.0), found.get("height", 400.0)


def _converted(svg: str, kind: Picture, scale: float) -> bytes:
    import vl_convert

    if kind == "svg":
        return svg.encode()
    if kind == "png":
        return vl_convert.svg_to_png(svg, scale=scale)
    return vl_convert.svg_to_pdf(svg)


def _renumbered(svg: str) -> str:
    """Vega numbers clips and gradients over all that it has drawn since it started; here they start from 0."""
    numbers: dict[str, int] = {}

    def renumber(found: re.Match[str]) -> str:
        return f"{found[1]}{found[2]}{numbers.setdefault(found[2] + found[3], len(numbers))}"

    return re.sub(r'(id="|url\(#|href="#)(clip|gradient_)(\d+)', renumber, svg)


def vega_bundle() -> str:
    """Vega, Vega-Lite and vega-embed as one classic script without a network; it sets ``window.vegaEmbed``."""
    import vl_convert

    bundle = vl_convert.javascript_bundle(None, VEGA_LITE)  # type: ignore[arg-type]  # None: no program of our own in it
    # In a function, so that its two thousand names stay its own.
    return f"(function () {{\n{bundle}\n}})();\n"


def to_json(spec: dict[str, Any]) -> str:
    """One spelling per specification: sorted keys, no spaces, never NaN."""
    return json.dumps(spec, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
