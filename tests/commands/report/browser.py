"""A report in a headless Chromium: what a user does with it, and what is seen then."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .chromium import Chromium

VISIBLE = "section.metric:not([hidden]) table.values"


class Browser(Chromium):
    """A browser that shows a report."""

    def show(self, html: Path, width: int = 1400, **media: str) -> None:
        """Load a page, and wait until its script has read everything."""
        self("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        features = [{"name": "prefers-color-scheme", "value": media.pop("scheme", "light")}]
        self("Emulation.setEmulatedMedia", features=features, **media)
        self.open(html)
        self.wait("data.explained")

    def rows(self) -> list[list[str]]:
        """The texts of the rows of the table of queries that is shown."""
        rows = f"[...document.querySelectorAll('{VISIBLE} > tbody > tr:not(.why)')]"
        found: list[list[str]] = self.run(f"{rows}.map((row) => [...row.cells].map((cell) => cell.innerText))")
        return found

    def choose(self, name: str, value: object) -> None:
        """Choose in one of the controls, as a user does."""
        chosen = f"const of = document.getElementById({json.dumps(name)}); of.value = {json.dumps(str(value))}"
        self.run(f"(() => {{ {chosen}; of.dispatchEvent(new Event('input', {{bubbles: true}})) }})()")

    def tables(self) -> dict[str, list[list[str]]]:
        """The tables of the explanations that are open, by caption."""
        cells = "[...table.rows].map((row) => [...row.cells].map((cell) => cell.textContent))"
        tables = f"[...document.querySelectorAll('{VISIBLE} .why table')]"
        return dict(self.run(f"{tables}.map((table) => [table.caption.textContent, {cells}])"))

    def problems(self) -> list[tuple[str, dict[str, Any]]]:
        """What was written to the console, thrown, opened or requested, besides the page."""
        self.run("0")  # events before this have arrived
        kinds = (
            "Runtime.exceptionThrown",
            "Runtime.consoleAPICalled",
            "Log.entryAdded",
            "Page.javascriptDialogOpening",
        )
        requests = [one for one in self.events if one[0] == "Network.requestWillBeSent"]
        return [one for one in self.events if one[0] in kinds] + requests[1:]
