// Keys of the whole page: / to the text, j and k through the documents, n and p through the
// differences, Escape closes. Where somebody writes, letters are letters.

import { byId } from "./dom.js";

const isEditable = (element) => Boolean(element?.closest?.("textarea, input, select"));

const rows = () => [...document.querySelectorAll("#find-answer .matches > li > details > summary")].filter((row) => row.checkVisibility());

/** Moves the focus to the next row, or to the one before. */
function move(by) {
  const all = rows();
  const at = all.findIndex((row) => row.parentElement.contains(document.activeElement));
  const to = at < 0 ? (by > 0 ? 0 : all.length - 1) : at + by;
  all[to]?.focus();
  return to >= 0 && to < all.length;
}

/** Goes to a difference of the open row that has the focus, or of the first. */
function step(kind) {
  const open = document.activeElement.closest?.("details[open]") ?? document.querySelector(".matches details[open]");
  (open ?? byId("compare-answer")).querySelector(`.steps .${kind}`)?.click();
}

/** Closes what is open around the focus; from the text it goes to the first row. */
function close() {
  const focused = document.activeElement;
  if (focused.id === "find-text") return rows()[0] ? rows()[0].focus() : focused.blur();
  const open = focused.closest?.(".matches details[open]");
  if (!open) return;
  open.open = false;
  open.querySelector("summary").focus();
}

export function start(toText) {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.key === "Escape") return close();
    if (isEditable(event.target)) return;
    const isInRow = event.target.matches?.(".matches > li > details > summary");
    const done = {
      "/": () => toText() ?? true,
      j: () => move(1), k: () => move(-1),
      ArrowDown: () => isInRow && move(1), ArrowUp: () => isInRow && move(-1),
      n: () => step("next") ?? true, p: () => step("previous") ?? true,
    }[event.key]?.();
    if (done) event.preventDefault();
  });
}
