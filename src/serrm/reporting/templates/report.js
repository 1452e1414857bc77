// Choosing a step shows its prediction large; printing shows the tables that are folded.
document.documentElement.classList.add("has-script");
for (const example of document.querySelectorAll(".example")) {
  const frames = [...example.querySelectorAll(".frame")];
  const buttons = [...example.querySelectorAll(".trace button")];
  buttons.forEach((button, chosen) => {
    button.addEventListener("click", () => {
      frames.forEach((frame, place) => frame.classList.toggle("shown", place === chosen));
      buttons.forEach((each, place) => each.toggleAttribute("aria-current", place === chosen));
    });
  });
}
let opened = [];
addEventListener("beforeprint", () => {
  opened = [...document.querySelectorAll("details.table:not([open])")];
  opened.forEach((each) => { each.open = true; });
});
addEventListener("afterprint", () => opened.forEach((each) => { each.open = false; }));
