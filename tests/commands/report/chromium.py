"""A report in a headless Chromium, driven over its DevTools pipe: no driver, no port and no library."""

import json
import os
import select
import shutil
import subprocess
from pathlib import Path
from typing import Any

PROGRAM = shutil.which("chromium")
_FLAGS = (
    *("--headless", "--remote-debugging-pipe", "--no-first-run", "--no-default-browser-check"),
    *("--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking", "--disable-extensions"),
    *("--disable-component-update", "--disable-sync", "--hide-scrollbars", "--mute-audio"),
    "--no-sandbox",  # which root has not; the pages are ours
)
_SECONDS = 20
VISIBLE = "section.metric:not([hidden]) table.values"


class Browser:
    def __init__(self, profile: Path) -> None:
        assert PROGRAM is not None
        command_in, self._commands = os.pipe()
        self._answers, answer_out = os.pipe()
        # the browser reads commands from descriptor 3 and writes answers to 4
        script = f'exec "$0" "$@" 3<&{command_in} 4>&{answer_out}'
        self._process = subprocess.Popen(
            ["bash", "-c", script, PROGRAM, *_FLAGS, f"--user-data-dir={profile}", "about:blank"],
            pass_fds=(command_in, answer_out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(command_in)
        os.close(answer_out)
        self._unread = b""
        self._number = 0
        self._session: str | None = None
        self.events: list[tuple[str, dict[str, Any]]] = []
        [page] = [one for one in self("Target.getTargets")["targetInfos"] if one["type"] == "page"]
        self._session = self("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self(f"{domain}.enable")

    def __call__(self, method: str, **params: Any) -> Any:
        """The answer to a command of the protocol."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while (answer := self._next()).get("id") != self._number:
            self.events.append((answer["method"], answer["params"]))
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._unread:
            if not select.select([self._answers], [], [], _SECONDS)[0]:
                raise TimeoutError("Chromium does not answer")
            read = os.read(self._answers, 1 << 20)
            if not read:
                raise EOFError("Chromium has ended")
            self._unread += read
        message, _, self._unread = self._unread.partition(b"\0")
        found: dict[str, Any] = json.loads(message)
        return found

    def open(self, path: Path) -> None:
        self.events.clear()
        self("Page.navigate", url=path.as_uri())
        while "Page.loadEventFired" not in [name for name, _ in self.events]:
            answer = self._next()
            if "method" in answer:
                self.events.append((answer["method"], answer["params"]))

    def run(self, script: str) -> Any:
        """What an expression of JavaScript is, which may be a promise."""
        found = self("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in found:
            details = found["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get("description", details["text"]))
        return found["result"].get("value")

    def click(self, selector: str) -> None:
        found = f"const of = document.querySelector({json.dumps(selector)})"
        middle = "const at = of.getBoundingClientRect(); return [at.x + at.width / 2, at.y + at.height / 2]"
        x, y = self.run(f"(() => {{ {found}; of.scrollIntoView({{block: 'center'}}); {middle} }})()")
        for kind in ("mousePressed", "mouseReleased"):
            self("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press(self, key: str, text: str = "") -> None:
        """Press a key, such as Tab, Enter or a letter."""
        code = {"Tab": 9, "Enter": 13, " ": 32}.get(key, 0)
        text = {"Enter": "\r", " ": " "}.get(key, text)
        more = {"key": key, "windowsVirtualKeyCode": code}
        self("Input.dispatchKeyEvent", type="keyDown", text=text, **more)
        self("Input.dispatchKeyEvent", type="keyUp", **more)

    def show(self, html: Path, width: int = 1400, **media: str) -> None:
        """Load a page, and wait until its script has read everything."""
        self("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        features = [{"name": "prefers-color-scheme", "value": media.pop("scheme", "light")}]
        self("Emulation.setEmulatedMedia", features=features, **media)
        self.open(html)
        look = "const look = () => data.explained ? done(true) : setTimeout(look, 5); look()"
        self.run(f"new Promise((done) => {{ {look} }})")

    def rows(self) -> list[list[str]]:
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
        kinds = ("exceptionThrown", "consoleAPICalled", "entryAdded", "javascriptDialogOpening")
        requests = [one for one in self.events if one[0] == "Network.requestWillBeSent"]
        return [one for one in self.events if one[0].endswith(kinds)] + requests[1:]

    def close(self) -> None:
        try:
            self._session = None
            self("Browser.close")
        except (EOFError, OSError, TimeoutError):
            self._process.kill()
        self._process.wait(_SECONDS)
        os.close(self._commands)
        os.close(self._answers)
