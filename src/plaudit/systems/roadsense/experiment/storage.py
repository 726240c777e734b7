"""Drives in a ledger: every step with all that was measured, so that any version can score it later."""

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from plaudit import Field, Reward, term
from plaudit.systems.roadsense import fields
from plaudit.systems.roadsense.experiment.driving import Drive
from plaudit.systems.roadsense.experiment.roads import Rows
from plaudit.systems.roadsense.experiment.study import STUDIES, Case, Study
from plaudit.systems.roadsense.measurement import Measurement
from plaudit.systems.roadsense.versions import WIDE, version

if TYPE_CHECKING:  # a worker needs no ledger, and importing it would take longer than all else
    from plaudit.ledger.ledger import Ledger

NAME = "roadsense_drive"


@term(name="measured", weight=0.0)
def _measured(
    closing_rate: float,
    ego_speed: float,
    peer_braking: bool,
    fresh_braking: bool,
    collision: bool,
    warned_now: float,
    warned_ever: float,
    peer_warned_ever: float,
    warned_fading: float,
) -> float:
    """What later versions read besides; it pays nothing here."""
    flags = (1.0 if peer_braking else 0.0) + (1.0 if fresh_braking else 0.0) + (1.0 if collision else 0.0)
    warnings = warned_now + warned_ever + peer_warned_ever + warned_fading
    return closing_rate + ego_speed + flags + warnings


_R0 = version("R0")

drive_reward = Reward(
    NAME,
    version="1",
    terms=[*_R0.terms, _measured],
    fields=[
        *_R0.fields.values(),
        fields.CLOSING_RATE,
        fields.EGO_SPEED,
        fields.PEER_BRAKING,
        fields.FRESH_BRAKING,
        fields.COLLISION,
        Field("warned_now", values=(0, 1), doc="What R9 reads as braking_received."),
        Field("warned_ever", values=(0, 1), doc="What R9L reads so."),
        Field("peer_warned_ever", values=(0, 1), doc="What R10 reads so."),
        Field("warned_fading", low=0, high=1, doc="What versions from R11 on read so."),
    ],
    action="action",
    shared=WIDE,
    doc="R0, and beside it all that other versions read: a drive that any of them can score.",
)
"""What drives are recorded under: R0 pays, and the rest is kept at a weight of 0."""


def format_run_name(study: Study) -> str:
    """Return under which run the drives of a study stand in a ledger; other settings are another run."""
    return f"experiment roadsense {study.name} {study.digest}"


def record_drive(ledger: "Ledger", drive: Drive) -> None:
    """Record a drive, all of it or nothing."""
    case = drive.case
    ledger.record_batch(
        drive_reward,
        split_columns(drive.rows),
        run=format_run_name(STUDIES[case.study]),
        actor=case.policy,
        phase=case.situation,
        episode=case.seed,
        step=range(1, len(drive.rows) + 1),
        context={"sumo": drive.sumo},
    )


def split_columns(rows: Rows) -> dict[str, np.ndarray]:
    """Return the columns of measured steps by name, bools as bools."""
    found: dict[str, np.ndarray] = dict(zip(Measurement._fields, rows.T, strict=True))
    return found | {name: found[name] != 0 for name in ("peer_braking", "fresh_braking", "collision")}


def load_drives(ledger: "Ledger", study: Study) -> Iterable[Drive]:
    """Yield the drives of a study that a ledger has; a block of records is read as the array it is."""
    order = [drive_reward.inputs.index(name) for name in Measurement._fields]
    for page in ledger.history(reward=drive_reward, run=format_run_name(study)).pages():
        row = page.row
        case = Case(study.name, row.actor, row.phase == "hazard", int(json.loads(row.episodes)[0]))
        yield Drive(case, page.inputs[:, order], json.loads(row.contexts)[0]["sumo"])
