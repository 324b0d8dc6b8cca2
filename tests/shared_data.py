"""Real data beside the checkout, which the project does not hold: tests that need it are skipped without it."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SHARED = Path(os.environ.get("GRADEVAL_SHARED", ROOT.parent / "shared"))


def shared(*parts: str) -> Path:
    """A file of the shared data; skips the test where it is not there."""
    path = SHARED.joinpath("data", *parts)
    if not path.exists():
        pytest.skip(f"{path} is not there")
    return path
