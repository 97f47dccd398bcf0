"use strict";
// Shows one step of growth at a time: the slider, the buttons and the arrow keys select it.
const steps = [...document.querySelectorAll("section")];
const [slider, caption, back, next] = ["slider", "caption", "back", "next"].map((id) => document.getElementById(id));

function show(number) {
  const current = Math.max(0, Math.min(steps.length - 1, number));
  steps.forEach((step, place) => { step.hidden = place !== current; });
  slider.value = current;
  caption.textContent = `${current} of ${steps.length - 1} · ${steps[current].dataset.caption}`;
  slider.setAttribute("aria-valuetext", caption.textContent);
  back.disabled = current === 0;
  next.disabled = current === steps.length - 1;
}

slider.addEventListener("input", () => show(Number(slider.value)));
back.addEventListener("click", () => show(Number(slider.value) - 1));
next.addEventListener("click", () => show(Number(slider.value) + 1));
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  const now = Number(slider.value);
  const target = { ArrowLeft: now - 1, ArrowRight: now + 1, Home: 0, End: steps.length - 1 }[event.key];
  if (target === undefined) return;
  event.preventDefault();
  show(target);
});
document.body.classList.add("slides");
for (const id of ["controls", "keys"]) document.getElementById(id).hidden = false;
show(0);
document.documentElement.dataset.ready = "yes";
