"""Changes that are no faults: whoever cries out at one of these cries too easily."""

from __future__ import annotations

from endive import express, storage, utils
from endive.mutants import witnesses as on
from endive.mutants.model import Mutant
from endive.mutants.patch import edited, setting, together
from endive.simulation import environment
from endive.transaction import Transaction

MUTANTS = (
    Mutant(
        "benign-small-blocks",
        "random numbers are drawn in small blocks",
        "docs/MODEL.md: a stream can be read in blocks",
        (),
        on.CROWD,
        together(setting(utils, "_BLOCK", 64), setting(utils, "_HANDFUL", 16)),
        benign=True,
    ),
    Mutant(
        "benign-short-slots",
        "the agenda is cut into short slots",
        "no document: how the loop keeps its order",
        (),
        on.CROWD,
        setting(environment, "_SLOT_MS", 16.0),
        benign=True,
    ),
    Mutant(
        "benign-forgetful-samplers",
        "samplers are made anew all the time",
        "no document: how samplers are kept",
        (),
        on.CROWD,
        setting(storage, "_SAMPLERS_KEPT", 1),
        benign=True,
    ),
    Mutant(
        "benign-express-lane-closed",
        "nothing may take the express lane",
        "no document: it changes nothing but the time it takes",
        (),
        on.EXPRESS,
        setting(express, "lane_of", lambda *_: None),
        benign=True,
    ),
    Mutant(
        "benign-renamed-class",
        "classes have names in capitals",
        "no document: a name is a name",
        (),
        on.CROWD,
        edited(
            Transaction.__init__,
            ("self.class_name = class_name", "self.class_name = class_name.upper()"),
        ),
        benign=True,
    ),
)
