"""The page in headless Chromium: it fits a phone and a desktop, says nothing on the console, asks nobody.

Skipped where there is no Chromium.
"""

import json
import shutil
import subprocess

import matplotlib.image
import numpy as np
import pytest

NAMES = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chromium-headless-shell",
    "chrome",
)
BROWSER = next((path for name in NAMES if (path := shutil.which(name))), None)
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--hide-scrollbars",
)
TIMEOUT = 180

pytestmark = [pytest.mark.slow, pytest.mark.skipif(BROWSER is None, reason="no Chromium found")]

# The page within a frame of each width, measured and clicked; what is found replaces the document.
PROBE = """<!DOCTYPE html><body><script>
const found = {};
addEventListener("error", (event) => { found.error = String(event.message); });
async function measure(width) {
  const frame = document.createElement("iframe");
  frame.style.width = width + "px"; frame.style.height = "900px"; frame.style.border = "0";
  frame.srcdoc = PAGE;
  const loaded = new Promise((resolve) => frame.addEventListener("load", resolve));
  document.body.append(frame);
  await loaded;
  const inner = frame.contentDocument;
  for (const each of inner.querySelectorAll("details")) each.open = true;
  const root = inner.documentElement;
  const button = inner.querySelector(".trace button");
  button.click();
  const example = button.closest(".example");
  found[width] = {
    overflow: Math.max(root.scrollWidth, inner.body.scrollWidth) - width,
    shown: [...example.querySelectorAll(".frame")].map((each) => getComputedStyle(each).display !== "none"),
    current: [...example.querySelectorAll(".trace button")].map((each) => each.hasAttribute("aria-current")),
    wide: [...inner.querySelectorAll(".scroll")].filter((each) => each.clientWidth > width).length,
    tables: inner.querySelectorAll("table").length,
    figures: [...inner.querySelectorAll(".plot > .scroll > svg")].map((each) => each.clientHeight > 50),
  };
  frame.remove();
}
const PAGE = __PAGE__;
(async () => {
  for (const width of [320, 390, 768, 1440]) await measure(width);
  document.body.textContent = JSON.stringify(found);
  document.title = "done";
})();
</script></body>"""


def run(*arguments):
    result = subprocess.run(
        [BROWSER, *FLAGS, *map(str, arguments)], capture_output=True, text=True, timeout=TIMEOUT, check=True
    )
    return result.stdout, result.stderr


@pytest.fixture(scope="module")
def page(full_report):
    return full_report / "report.html"


def test_it_fits_every_width_and_steps_can_be_chosen(page, tmp_path):
    content = json.dumps(page.read_text(encoding="utf-8")).replace("</", "<\\/")
    probe = tmp_path / "probe.html"
    probe.write_text(PROBE.replace("__PAGE__", content), encoding="utf-8")
    dom, _ = run("--virtual-time-budget=20000", "--dump-dom", probe.as_uri())
    found = json.loads(dom[dom.index("{") : dom.rindex("}") + 1])
    assert "error" not in found
    assert set(found) == {"320", "390", "768", "1440"}
    for width, each in found.items():
        assert each["overflow"] <= 0, width
        assert each["wide"] == 0, width
        assert each["shown"] == each["current"] == [True, False], width
        assert each["tables"] >= 15
        assert len(each["figures"]) == 7 and all(each["figures"]), width


@pytest.mark.parametrize(("width", "height"), [(500, 900), (1440, 1200)])
def test_it_is_drawn_without_a_word_and_without_a_request(page, tmp_path, width, height):
    picture, log = tmp_path / "page.png", tmp_path / "net.json"
    options = (f"--window-size={width},{height}", f"--screenshot={picture}", f"--log-net-log={log}")
    _, said = run("--enable-logging=stderr", "--host-resolver-rules=MAP * ~NOTFOUND", *options, page.as_uri())
    assert "CONSOLE" not in said
    assert not [word for word in log.read_text().split('"') if word.startswith(("http://", "https://"))]
    pixels = matplotlib.image.imread(picture)
    assert pixels.shape[1] == width
    assert len(np.unique(pixels.reshape(-1, pixels.shape[-1]), axis=0)) > 100


def test_it_prints(page, tmp_path):
    target = tmp_path / "page.pdf"
    run(f"--print-to-pdf={target}", page.as_uri())
    assert target.read_bytes().startswith(b"%PDF")
    assert target.stat().st_size > 50_000
