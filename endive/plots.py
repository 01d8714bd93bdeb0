"""How plots look: one style, colours that stay apart for every kind of eye, in light and dark, as SVG and PNG.

What paints a plot is a function of an empty figure and the look to paint it in. It is called once for each look, and nothing of
matplotlib's global state is touched. The same numbers give the same file, byte for byte. matplotlib is imported when something is
drawn.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from endive.errors import EndiveError
from endive.page import Markup, picture
from endive.utils import whole_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class Look:
    """The colours of one drawing."""

    name: str
    paper: str
    ink: str
    faint: str
    grid: str
    colours: tuple[str, ...]
    """For lines and areas, in the order in which they are needed; Okabe and Ito's, told apart without colour vision too."""


# One marker, dash and hatch for each colour, so that nothing rests on colour alone.
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)), (0, (1, 1)))
HATCHES = ("", "//", "..", "\\\\", "xx", "oo", "++")

LIGHT = Look(
    name="light",
    paper="#ffffff",
    ink="#1a1a1a",
    faint="#5c5c5c",
    grid="#e4e4e4",
    colours=("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#555555"),
)
DARK = Look(
    name="dark",
    paper="#16181a",
    ink="#e8e8e6",
    faint="#a0a0a0",
    grid="#3a3d40",
    colours=("#56B4E9", "#F0803C", "#2CC49A", "#E39BC3", "#F0B93A", "#9CC9E8", "#BBBBBB"),
)

Paint = Callable[["Figure", Look], None]
"""Paints a plot on an empty figure."""


class PlotsUnavailableError(EndiveError):
    """Nothing can be drawn here, and what would mend it."""


@dataclass(frozen=True, slots=True)
class Plot:
    """A finished plot."""

    light_svg: str
    dark_svg: str
    png: bytes

    def save(self, stem: str | Path) -> tuple[Path, Path]:
        """Write `<stem>.svg` and `<stem>.png`, each whole; says where."""
        svg, png = Path(f"{stem}.svg"), Path(f"{stem}.png")
        with whole_file(svg) as beside:
            beside.write_text(self.light_svg, encoding="utf-8")
        with whole_file(png) as beside:
            beside.write_bytes(self.png)
        return svg, png

    def on_page(self, words: str, caption: object | None = None) -> Markup:
        """The plot as a part of a page; `words` say what it shows to those who cannot see it."""
        return picture(self.light_svg, self.dark_svg, words=words, caption=caption)


def draw(paint: Paint, *, width_in: float = 8.0, height_in: float = 4.5) -> Plot:
    """Paint a plot in both looks."""
    light_svg, png = _rendered(paint, LIGHT, (width_in, height_in))
    dark_svg, _ = _rendered(paint, DARK, (width_in, height_in))
    return Plot(light_svg, dark_svg, png)


def _rendered(paint: Paint, look: Look, size_in: tuple[float, float]) -> tuple[str, bytes]:
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError:
        raise PlotsUnavailableError(
            "matplotlib is not installed; pip install 'endive[analysis]' brings it"
        ) from None
    with mpl.rc_context(_settings(look)):
        figure = Figure(figsize=size_in, facecolor=look.paper, layout="constrained")
        paint(figure, look)
        svg, png = io.StringIO(), io.BytesIO()
        # Without a date the same numbers give the same bytes.
        figure.savefig(svg, format="svg", metadata={"Date": None, "Creator": "endive"})
        if look is LIGHT:
            figure.savefig(png, format="png", dpi=144, metadata={"Software": "endive"})
    return svg.getvalue(), png.getvalue()


def _settings(look: Look) -> dict[Any, Any]:
    from cycler import cycler

    cycle = cycler(color=look.colours) + cycler(marker=MARKERS) + cycler(linestyle=DASHES)
    return {
        "axes.edgecolor": look.faint,
        "axes.facecolor": look.paper,
        "axes.grid": True,
        "axes.grid.axis": "y",
        "axes.axisbelow": True,
        "axes.labelcolor": look.ink,
        "axes.prop_cycle": cycle,
        "axes.spines.right": False,
        "axes.spines.top": False,
        "axes.titlecolor": look.ink,
        "axes.titlelocation": "left",
        "axes.titlesize": 11,
        "axes.titleweight": "bold",
        "figure.titlesize": 12,
        "figure.titleweight": "bold",
        "font.family": "DejaVu Sans",
        "font.size": 10,
        "grid.color": look.grid,
        "grid.linewidth": 0.8,
        "hatch.color": look.ink,
        "hatch.linewidth": 0.6,
        "legend.frameon": False,
        "lines.linewidth": 1.6,
        "lines.markersize": 5,
        "svg.hashsalt": "endive",
        "text.color": look.ink,
        "xtick.color": look.faint,
        "xtick.labelcolor": look.ink,
        "ytick.color": look.faint,
        "ytick.labelcolor": look.ink,
    }
