"""`serrm demo`: an answer appears step by step until it is verified, also in a browser; bad input gets a sentence."""

import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator

import gradio
import pytest
from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from serrm import demo

FLAGS = (
    "headless",
    "no-sandbox",
    "disable-gpu",
    "no-first-run",
    "disable-background-networking",
    "disable-sync",
)


def test_answers_stream_until_one_is_verified() -> None:
    frames = list(demo.play(demo.EXAMPLES[1], 64))
    assert frames[-1][1].startswith("Verified")
    assert len({picture for picture, _ in frames}) == len(frames)


def test_guesses_are_made_within_the_budget() -> None:
    """A Sudoku without a solution that the rules show at once: every attempt fails, and the budget ends it."""
    [question] = demo.questions_of("1234" + "." * 12)
    *_, last = demo.settle(question, 64)
    assert last.caption.startswith(("Verified", "Not solved within 64"))


@pytest.mark.parametrize("text", ["", "12", "11..............", "S#\n#G", "1" * 49, "[1"])
def test_what_is_no_puzzle_gets_a_sentence(text: str) -> None:
    [(picture, sentence)] = demo.play(text, 64)
    assert picture == "" and sentence.endswith(".")


def test_a_maze_is_drawn_by_clicks() -> None:
    text, _ = demo.new_maze(0)
    clicked = gradio.SelectData(None, {"index": (3 * demo.PIXELS + 1, 7 * demo.PIXELS), "value": None})
    once = demo.paint(text, "walls", clicked)
    assert once != text and demo.paint(once, "walls", clicked) == text
    assert demo.paint(text, "G", clicked).count("G") == 1
    assert demo.as_image(once).shape == (8 * demo.PIXELS, 8 * demo.PIXELS, 3)


@pytest.fixture
def browser() -> Iterator[webdriver.Chrome]:
    if not shutil.which("chromedriver"):
        pytest.skip("no chromedriver")
    options = webdriver.ChromeOptions()
    for flag in FLAGS:
        options.add_argument(f"--{flag}")
    chrome = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
    yield chrome
    chrome.quit()


@pytest.mark.slow
def test_in_a_browser(browser: webdriver.Chrome) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen([sys.executable, "-m", "serrm.cli", "demo", "--port", str(port)])
    try:
        wait = WebDriverWait(browser, 120, ignored_exceptions=[WebDriverException])
        wait.until(lambda page: page.get(f"http://127.0.0.1:{port}") or True)
        wait.until(lambda page: page.find_element(By.ID, "solve")).click()
        wait.until(lambda page: page.find_element(By.ID, "caption").text.startswith("Verified"))
        text = browser.find_element(By.CSS_SELECTOR, "#sudoku textarea")
        text.clear()
        text.send_keys("12")
        browser.find_element(By.ID, "solve").click()
        wait.until(lambda page: "12" in page.find_element(By.ID, "caption").text)
    finally:
        server.terminate()
        server.wait()
