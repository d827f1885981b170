"""The results of a siege: a table by kind for people, the same data as JSON for programs."""

from __future__ import annotations

import os
from argparse import Namespace
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tundish.report.machine import commit, describe, machine, versions

from bench.common.rows import ROOT, table
from tests.siege.proof import Proof, Tally

TALLIES = ("restored", "pixels", "windows", "resized")
SHOWN = 20  # differences in the text


@dataclass
class Campaign:
    differing: Path  # folder for files that differ
    proofs: dict[str, Proof] = field(default_factory=dict)  # by kind
    photos: int = 0
    unreadable: list[str] = field(default_factory=list)  # photos that Pillow cannot read
    not_made: list[str] = field(default_factory=list)  # files that a tool could not make, and why
    left_out: Counter[str] = field(default_factory=Counter)  # kinds per missing program
    supported: list[str] = field(default_factory=list)  # kinds that can be lanes records

    def lanes_of_supported(self) -> tuple[int, int]:
        """Returns the counts of lanes records and of files, for kinds that can be lanes records."""
        proofs = [self.proofs[name] for name in self.supported]
        return sum(proof.lanes for proof in proofs), sum(proof.files for proof in proofs)

    def is_proven(self) -> bool:
        total = self.total()
        return total.files > 0 and not total.differences

    def total(self) -> Proof:
        out = Proof()
        for proof in self.proofs.values():
            for name in ("files", "lanes", "jpeg_bytes", "pack_bytes"):
                setattr(out, name, getattr(out, name) + getattr(proof, name))
            for name in TALLIES:
                ours, theirs = getattr(out, name), getattr(proof, name)
                ours.checked, ours.exact = ours.checked + theirs.checked, ours.exact + theirs.exact
            out.kept.update(proof.kept)
            out.differences += proof.differences
        return out


def as_text(campaign: Campaign) -> str:
    head = ["kind", "files", "lanes", *TALLIES, "pack / JPEG", "kept as they came"]
    total = campaign.total()
    rows = [row(name, proof) for name, proof in [*campaign.proofs.items(), ("all", total)]]
    lanes, files = campaign.lanes_of_supported()
    lines = [table(head, rows), "", f"{campaign.photos:,} photos; {describe(machine())}"]
    lines.append(f"{lanes:,} of {files:,} files of the supported kinds are lanes records")
    if campaign.left_out:
        missing = ", ".join(f"{n} kinds without {p}" for p, n in campaign.left_out.items())
        lines.append(f"left out, not installed: {missing} (Debian: libjpeg-turbo-progs)")
    if campaign.unreadable:
        lines.append(f"left out, not read by Pillow: {', '.join(campaign.unreadable)}")
    lines += [f"not made: {text}" for text in campaign.not_made[:SHOWN]]
    lines += [f"DIFFERS: {d.file.name}: {d.what}" for d in total.differences[:SHOWN]]
    if total.differences:
        lines.append(f"{len(total.differences):,} differences; the files: {campaign.differing}")
    lines.append("proven" if campaign.is_proven() else "NOT proven")
    return "\n".join(lines)


def row(name: str, proof: Proof) -> list[str]:
    def tally(one: Tally) -> str:
        wrong = one.checked - one.exact
        return f"{one.exact:,}" + (f" ({wrong:,} WRONG)" if wrong else "")

    ratio = proof.pack_bytes / proof.jpeg_bytes if proof.jpeg_bytes else 0.0
    kept = ", ".join(f"{count:,} {reason}" for reason, count in sorted(proof.kept.items()))
    counts = [f"{proof.files:,}", f"{proof.lanes:,}", *(tally(getattr(proof, t)) for t in TALLIES)]
    return [name, *counts, f"{ratio:.3f}", kept or "-"]


def as_json(campaign: Campaign, options: Namespace) -> dict[str, Any]:
    total = campaign.total()
    lanes, files = campaign.lanes_of_supported()
    about = {
        "machine": machine(),
        "versions": versions(),
        "commit": commit(ROOT),
        "cpu": os.environ.get("TUNDISH_CPU"),  # the requested instruction set
        "tables": options.tables,
        "max_growth": options.max_growth,
    }
    return {
        "proven": campaign.is_proven(),
        "photos": campaign.photos,
        "kinds": {name: counts(proof) for name, proof in campaign.proofs.items()},
        "all": counts(total),
        "supported": {"files": files, "lanes": lanes},
        "differences": [{"file": d.file.name, "what": d.what} for d in total.differences],
        "kept_in": str(campaign.differing) if total.differences else None,
        "left_out": dict(campaign.left_out),
        "unreadable": campaign.unreadable,
        "not_made": campaign.not_made,
        **about,
    }


def counts(proof: Proof) -> dict[str, Any]:
    names = ("files", "lanes", "kept", "jpeg_bytes", "pack_bytes")
    tallies = {name: vars(getattr(proof, name)) for name in TALLIES}
    return {name: getattr(proof, name) for name in names} | tallies
