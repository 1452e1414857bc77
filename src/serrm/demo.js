// The grid of the demo (demo.py), with Gradio's `element` around it. Every edit is made in the text of the puzzle, which
// Python draws anew. A click chooses a square; where there is a brush it also puts that symbol there. Keys, on the page
// or the keyboard, choose the brush, or fill the chosen square; arrows move.
let chosen = null; // [row, column]
let brush = null;

const board = () => element.querySelector(".board");
const box = () => document.querySelector("#puzzle textarea");
const keys = () => [...element.querySelectorAll(".keys button")];

function mark() {
  const { side, brush: first } = board().dataset;
  if (chosen && Math.max(...chosen) >= side) chosen = null;
  if (!first || !keys().some((key) => key.dataset.symbol === brush)) brush = first || null;
  const mark = board().querySelector("i");
  mark.style.display = chosen && !brush ? "block" : "none";
  if (chosen) {
    mark.style.cssText += `; top: ${(100 * chosen[0]) / side}%; left: ${(100 * chosen[1]) / side}%; width: ${100 / side}%`;
  }
  if (box()) box().style.fontFamily = "monospace";
  for (const key of keys()) key.setAttribute("aria-pressed", key.dataset.symbol === brush);
}

function put(symbol) {
  const { side, text, blank, unique } = board().dataset;
  let cells = [...(blank === " " ? box().value.replaceAll("\n", "") : box().value.replace(/\s/g, ""))];
  if (cells.length !== side ** 2) cells = [...text]; // JSON, or no puzzle at present
  const at = chosen[0] * side + chosen[1];
  if (unique.includes(cells[at])) return; // a maze keeps its start and its goal
  if (unique.includes(symbol)) cells = cells.map((each) => (each === symbol ? blank : each));
  cells[at] = brush && symbol === brush && cells[at] === symbol ? blank : symbol; // a second click takes it away
  box().value = cells.map((each, place) => (place && place % side === 0 ? "\n" : "") + each).join("");
  box().dispatchEvent(new Event("input", { bubbles: true }));
}

element.tabIndex = 0;
element.setAttribute("aria-label", "The puzzle: arrows move, keys fill a square");

element.addEventListener("click", (event) => {
  const key = event.target.closest("button");
  if (key && brush) brush = key.dataset.symbol;
  else if (key && chosen) put(key.dataset.symbol);
  else {
    // By its place, because the square that was pressed may have been drawn anew before it is released.
    const { side } = board().dataset;
    const { left, top, width, height } = board().getBoundingClientRect();
    const place = [(event.clientY - top) / height, (event.clientX - left) / width];
    if (place.some((share) => share < 0 || share > 1)) return;
    chosen = place.map((share) => Math.min(Math.floor(share * side), side - 1));
    if (brush) put(brush);
  }
  mark();
});

element.addEventListener("keydown", (event) => {
  const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
  const { side, blank } = board().dataset;
  const typed = ["Backspace", "Delete", "0"].includes(event.key) ? blank : event.key;
  const symbol = [typed, typed.toUpperCase()].find((each) => keys().some((key) => key.dataset.symbol === each));
  if (move) {
    chosen = (chosen ?? [0, 0]).map((place, axis) => Math.min(Math.max(place + move[axis], 0), side - 1));
  } else if (symbol && chosen && event.target === element && !event.ctrlKey && !event.metaKey) put(symbol);
  else return;
  event.preventDefault();
  mark();
});

// Gradio takes the marks away when it draws anew, in place where it can.
const observer = new MutationObserver(refresh);
function refresh() {
  observer.disconnect();
  mark();
  observer.observe(element, { attributes: true, childList: true, subtree: true });
}
refresh();
