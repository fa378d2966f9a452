"""One process of Chromium: how it is started, what it may use, and its end."""

import asyncio
import os
import shutil
import signal
import sys
from asyncio.subprocess import DEVNULL, Process
from contextlib import suppress
from pathlib import Path

from watchbell.archive.grabbing.devtools import BrowserFailed, DevTools
from watchbell.settings import environment

PROGRAMS = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
_START = 60.0
_SAID = "stderr.txt"
_MOST_SAID = 65_536

# The browser speaks on the descriptors 3 and 4, ends with us, dumps no core, and writes no file
# larger than the third argument.
_LAUNCHER = """
import ctypes, fcntl, os, resource, signal, sys
read, write = (fcntl.fcntl(int(one), fcntl.F_DUPFD, 10) for one in sys.argv[1:3])
os.dup2(read, 3)
os.dup2(write, 4)
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
most = int(sys.argv[3])
resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
os.execv(sys.argv[4], sys.argv[4:])
"""
_MOST_FILE = 1 << 30

# What has no effect on pages, and what would talk to others than the proxy.
_FEATURES_OFF = (
    *("HttpsUpgrades", "HttpsFirstBalancedModeAutoEnable", "MediaRouter", "Translate"),
    *(
        "OptimizationHints",
        "AutofillServerCommunication",
        "CertificateTransparencyComponentUpdater",
    ),
    *("Prerender2", "WebRtcHideLocalIpsWithMdns", "DialMediaRouteProvider"),
    # Two pages of its own that each window loads for an address bar that nobody sees; they took
    # half of the time that opening a page takes.
    *("WebUIOmniboxPopup", "WebUIOmniboxAimPopup"),
)
_FLAGS = (
    *("--headless", "--remote-debugging-pipe", "--no-first-run", "--no-default-browser-check"),
    *(
        "--disable-background-networking",
        "--disable-breakpad",
        "--disable-client-side-phishing-detection",
    ),
    *("--disable-component-update", "--disable-crash-reporter", "--disable-default-apps"),
    *("--disable-dev-shm-usage", "--disable-domain-reliability", "--disable-extensions"),
    *("--disable-field-trial-config", "--disable-gpu", "--disable-notifications"),
    *("--disable-print-preview", "--disable-quic", "--disable-sync", "--dns-prefetch-disable"),
    *("--deny-permission-prompts", "--hide-scrollbars", "--metrics-recording-only"),
    *("--mute-audio", "--no-pings", "--password-store=basic", "--window-size=1280,1024"),
    *("--disable-background-timer-throttling", "--disable-renderer-backgrounding"),
    # Named by newer and by older versions.
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--js-flags=--max-old-space-size=1024",
    # Only pages have a proxy that answers; the browser itself reaches nobody.
    "--proxy-server=http://127.0.0.1:9",
    "--proxy-bypass-list=<-loopback>",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    f"--disable-features={','.join(_FEATURES_OFF)}",
)


def found(setting: str) -> str | None:
    """The program of the setting `archive.browser`, or the first that is installed."""
    names = [setting] if setting else PROGRAMS
    return next((path for name in names if (path := shutil.which(name))), None)


class Chromium:
    def __init__(self, process: Process, devtools: DevTools, folder: Path) -> None:
        self._process, self.devtools, self._folder = process, devtools, folder

    @classmethod
    async def started(cls, program: str, folder: Path, key_digest: str) -> "Chromium":
        """`folder` is empty, and removed at the end. Raises BrowserFailed, or OSError."""
        flags = [
            *_FLAGS,
            f"--ignore-certificate-errors-spki-list={key_digest}",
            f"--user-data-dir={folder / 'profile'}",
            *(["--no-sandbox"] if os.geteuid() == 0 else []),
        ]
        devtools = DevTools()
        process = await _launched([program, *flags], devtools, folder)
        one = cls(process, devtools, folder)
        try:
            async with asyncio.timeout(_START):
                await devtools.call("Browser.getVersion")
        except (BrowserFailed, TimeoutError):
            reason = await one._last_words()
            raise BrowserFailed(reason) from None
        except asyncio.CancelledError:
            await one.kill()
            raise
        return one

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process.returncode is None and not self.devtools.is_lost

    async def kill(self) -> None:
        """With everything that it has started. Its folder is removed."""
        self.devtools.close()
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        await self._process.wait()
        await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)

    async def _last_words(self) -> str:
        """Why it did not start, as far as it says so."""
        with (self._folder / _SAID).open("rb") as file:
            said = file.read(_MOST_SAID).decode(errors="replace")
        await self.kill()
        lines = [line for line in said.splitlines() if "ERROR" in line or "FATAL" in line]
        return (lines or [f"it did not start within {_START:g} s"])[0].rpartition("] ")[2][:300]


async def _launched(command: list[str], devtools: DevTools, folder: Path) -> Process:
    """Its pipes are connected first: who cancels this leaves no process behind."""
    loop = asyncio.get_running_loop()
    to_read, to_write = os.pipe()
    from_read, from_write = os.pipe()
    said = os.open(folder / _SAID, os.O_WRONLY | os.O_CREAT, 0o600)
    ours = os.fdopen(from_read, "rb", 0), os.fdopen(to_write, "wb", 0)
    try:
        await loop.connect_read_pipe(lambda: devtools, ours[0])
        writer, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, ours[1])
        devtools.write_to(writer)
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-S", "-c", _LAUNCHER),
            *(str(to_read), str(from_write), str(_MOST_FILE), *command),
            stdin=DEVNULL,
            stdout=DEVNULL,
            stderr=said,
            pass_fds=(to_read, from_write),
            start_new_session=True,
            cwd=folder,
            env=_environment(folder),
        )
    except BaseException:
        devtools.close()
        for one in ours:
            one.close()
        raise
    finally:
        for descriptor in (to_read, from_write, said):
            os.close(descriptor)


def _environment(folder: Path) -> dict[str, str]:
    """Nothing of ours but where programs are: a page that breaks out finds no secrets."""
    path = str(folder)
    return {
        "PATH": environment().get("PATH", os.defpath),
        "LANG": "C.UTF-8",
        "TMPDIR": ".",  # it makes a socket there, whose path must be short
        "HOME": path,
        **{
            f"XDG_{name}": path
            for name in ("CONFIG_HOME", "CACHE_HOME", "DATA_HOME", "RUNTIME_DIR")
        },
    }
