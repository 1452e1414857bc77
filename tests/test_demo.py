"""`serrm demo`: a puzzle is drawn as it is typed, filled in by clicks and keys, and its answer plays step by step."""

import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from http.client import HTTPConnection
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait

from serrm import demo
from tests.servers import free_port

HARD, EASY = demo.sample("Hard Sudoku"), demo.sample("Easy Sudoku")
FLAGS = ("headless", "no-sandbox", "disable-gpu", "hide-scrollbars", "disable-background-networking")


@pytest.fixture(autouse=True)
def without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "PAUSE", 0)


def test_an_answer_plays_step_by_step_until_it_is_verified() -> None:
    grids, captions, frames, sliders = zip(*demo.play(HARD, 64), strict=True)
    assert captions[0] == "Attempt 1: 1 supervision step." and captions[-1].startswith("Verified")
    assert len(set(grids)) == len(grids) > 4
    assert demo.rewind(HARD, frames[-1], 2) == (grids[1], captions[1])
    assert sliders[-1].maximum == sliders[-1].value == len(grids)


def test_guesses_are_made_within_the_budget() -> None:
    """A Sudoku without a solution that the rules show at once: every attempt fails, and the budget ends it."""
    *_, last = demo.settle(demo.question_of("1234" + "." * 12), 64)
    assert last.caption.startswith(("Verified", "Not solved within 64"))


@pytest.mark.parametrize("text", ["", "12", "S#\n#", "1" * 49, "[1", '{"test": [{"input": [[1]]}]}'])
def test_an_invalid_puzzle_keeps_the_grid_and_shows_the_reason(text: str) -> None:
    grid, sentence, _ = demo.show(text)
    assert not isinstance(grid, str) and sentence.endswith(".")
    [(grid, again, *_)] = demo.play(text, 64)
    assert not isinstance(grid, str) and again == sentence


@pytest.mark.parametrize("text", ["11..............", "." * 81, "S# \n###\n##G"])
def test_a_puzzle_without_a_solution_is_drawn_and_refused(text: str) -> None:
    grid, _, _ = demo.show(text)
    [(_, sentence, *_)] = demo.play(text, 64)
    assert "<svg" in grid and sentence.endswith(".")


def test_keys_are_the_symbols_of_the_puzzle() -> None:
    assert [*demo.keys_of(demo.question_of("1" + "." * 15)).labels] == ["1", "2", "3", "4", "."]
    assert [*demo.keys_of(demo.question_of(demo.sample("New maze"))).labels] == ["#", " ", "S", "G"]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    port = free_port()
    server = subprocess.Popen([sys.executable, "-m", "serrm.cli", "demo", "--port", str(port)])
    yield f"http://127.0.0.1:{port}"
    server.terminate()
    server.wait()


@pytest.mark.slow
@pytest.mark.parametrize("header", [("Content-Length", "60000000"), ("Transfer-Encoding", "chunked")])
def test_a_long_request_is_refused_before_it_is_read(address: str, header: tuple[str, str]) -> None:
    WebDriverWait(address, 180, ignored_exceptions=[URLError]).until(urlopen)
    with closing(HTTPConnection(address.removeprefix("http://"), timeout=60)) as connection:
        connection.putrequest("POST", "/gradio_api/queue/join")
        connection.putheader(*header)
        connection.endheaders()
        assert connection.getresponse().status == 413


class Page:
    """The page in a browser."""

    def __init__(self, chrome: webdriver.Chrome, address: str) -> None:
        self.chrome, self.wait = chrome, WebDriverWait(chrome, 180, ignored_exceptions=[WebDriverException])
        self.wait.until(lambda page: page.get(address) or True)
        self.wait.until(lambda page: self.find(".keys button[aria-pressed]"))  # demo.js has begun

    def find(self, selector: str) -> WebElement:
        return self.chrome.find_element(By.CSS_SELECTOR, selector)

    @property
    def text(self) -> str:
        return self.find(".board").get_attribute("data-text") or ""

    @property
    def caption(self) -> str:
        return self.find("#caption").text

    def press(self, words: str) -> None:
        self.chrome.find_element(By.XPATH, f"//button[normalize-space()='{words}']").click()

    def click(self, row: int, column: int) -> None:
        board = self.find(".board")
        self.chrome.execute_script("arguments[0].scrollIntoView({block: 'center'})", board)
        side, length = int(board.get_attribute("data-side") or 0), board.size["width"]
        across, down = (round(length * ((place + 0.5) / side - 0.5)) for place in (column, row))
        webdriver.ActionChains(self.chrome).move_to_element_with_offset(board, across, down).click().perform()

    def type(self, *keys: str) -> None:
        webdriver.ActionChains(self.chrome).send_keys(*keys).perform()

    def until(self, is_so: Callable[[], bool]) -> None:
        self.wait.until(lambda page: is_so())


@pytest.fixture(params=[1280, 390])
def page(request: pytest.FixtureRequest, address: str) -> Iterator[Page]:
    if not shutil.which("chromedriver"):
        pytest.skip("no chromedriver")
    options = webdriver.ChromeOptions()
    for flag in FLAGS:
        options.add_argument(f"--{flag}")
    chrome = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
    screen = {"width": request.param, "height": 844, "deviceScaleFactor": 1, "mobile": request.param < 600}
    chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    yield Page(chrome, address)
    chrome.quit()


@pytest.mark.slow
def test_in_a_browser(page: Page) -> None:
    width = page.chrome.execute_script("return document.documentElement.clientWidth")
    assert page.chrome.execute_script("return document.documentElement.scrollWidth") == width
    assert page.find(".board").size["width"] > min(280, width / 3) and page.text == HARD
    # Chosen, filled in by a key of the page and by the keyboard, cleared.
    page.press("Easy Sudoku")
    page.until(lambda: page.text == EASY)
    page.click(0, 2)
    page.press("4")
    page.until(lambda: page.text == EASY.replace("53..7", "534.7"))
    page.click(0, 2)
    page.type(Keys.ARROW_RIGHT, "6")
    page.until(lambda: page.text == EASY.replace("53..7", "53467"))
    page.type(Keys.BACKSPACE, Keys.ARROW_LEFT, "0")
    page.until(lambda: page.text == EASY)
    # An answer plays, and may be looked at again; an edit ends it.
    page.press("Hard Sudoku")
    page.until(lambda: page.text == HARD)
    page.press("Solve")
    start, seen = time.monotonic(), set()
    while not page.caption.startswith("Verified") and time.monotonic() < start + 180:
        seen.add(page.caption)
    assert sum(caption.startswith("Attempt 1: ") for caption in seen) > 4
    page.until(lambda: page.find("#replay").is_displayed())
    page.until(lambda: page.press("Solve") is None and page.caption.startswith("Attempt 1: "))
    page.click(0, 0)
    page.type("7")
    page.until(lambda: page.text[0] == "7" and page.caption.startswith("Click"))
    # Typed: no puzzle leaves the grid.
    box = page.find("#puzzle textarea")
    box.clear()
    box.send_keys("12")
    page.until(lambda: "2 characters" in page.caption or "12" in page.caption)
    assert page.text[0] == "7"
    # A maze: a second click takes a wall away, the start moves, and a path is found.
    page.press("New maze")
    page.until(lambda: "#" in page.text)
    maze = page.text
    place = maze.index(" ")
    page.click(*divmod(place, 8))
    page.until(lambda: page.text[place] == "#")
    page.until(lambda: page.find(".keys button[aria-pressed=true]").text == "wall")
    page.click(*divmod(place, 8))
    page.until(lambda: page.text == maze)
    page.press("start")
    page.click(*divmod(place, 8))
    page.until(lambda: page.text[place] == "S" and page.text.count("S") == 1)
    page.press("Solve")
    page.until(lambda: page.caption.startswith(("Attempt", "Verified")))
