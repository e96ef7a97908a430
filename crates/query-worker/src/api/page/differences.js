// The differences of two texts: beside each other, or in one text where the window is narrow.

import { el } from "./dom.js";
import { capital, t } from "./words.js";

/** Characters shown at either end of a long stretch. */
const CONTEXT = 120;
/** Stretches shown at once. */
const STRETCHES_SHOWN = 600;

const TAGS = { a: "del", b: "ins", both: "span" };

const isNarrow = window.matchMedia("(max-width: 46rem)");

/** Cuts between characters, not inside of one. */
const boundary = (text, at) => (/[\uDC00-\uDFFF]/.test(text.charAt(at)) ? at + 1 : at);

function folded(text, side, kind = { both: "alike", a: "cut", b: "added" }[side]) {
  if (text.length <= 3 * CONTEXT) return [text];
  const [from, to] = [boundary(text, CONTEXT), boundary(text, text.length - CONTEXT)];
  const button = el("button", { type: "button", class: "fold", onclick: () => button.replaceWith(text.slice(from, to)) }, t(kind, to - from));
  return [text.slice(0, from), button, text.slice(to)];
}

/** Returns a text that may be long, with its middle folded. */
export const foldedText = (text, label) => el("div", { class: "texts", dir: "auto", tabindex: "0", role: "region", "aria-label": label }, folded(text, "both", "folded"));

/** Gives each stretch the number of the place that it is part of; null where the texts are alike. */
function placed(stretches) {
  let place = -1;
  return stretches.map((stretch, n) => {
    if (stretch.side === "both") return { ...stretch, place: null };
    if (n === 0 || stretches[n - 1].side === "both") place += 1;
    return { ...stretch, place };
  });
}

/** Returns the elements of a stretch in the text of one side, or in the one text of both. */
function elements(all, n, of) {
  const { side, text, place } = all[n];
  if (place === null) return [el("span", {}, folded(text, side))];
  if (of === "both" || of === side) return [el(TAGS[side], { "data-place": place }, folded(text, side))];
  const isAlone = all[n + (side === "a" ? 1 : -1)]?.place !== place;
  return isAlone ? [el("span", { class: "gap", "data-place": place })] : [];
}

/** Returns both texts with the differences marked, and buttons that go from one to the next. */
export function differencesPart(stretches, [nameA, nameB]) {
  const all = placed(stretches);
  const nPlaces = 1 + Math.max(-1, ...all.flatMap(({ place }) => (place === null ? [] : [place])));
  const length = (side) => stretches.filter((stretch) => stretch.side === side).reduce((sum, { text }) => sum + [...text].length, 0);
  const view = el("div");
  const where = el("span", { class: "quiet", "aria-live": "polite" });
  const more = el("button", { type: "button", class: "plain" });
  let [nShown, at, panes] = [0, -1, []];

  const show = () => {
    const from = nShown;
    nShown = Math.min(all.length, from + STRETCHES_SHOWN);
    for (const [of, pane] of panes) for (let n = from; n < nShown; n += 1) pane.append(...elements(all, n, of));
    more.hidden = nShown >= all.length;
    more.textContent = t("moreStretches", all.length - nShown);
  };
  const draw = () => {
    const pane = (of, name) => [of, el("div", { class: "texts", dir: "auto", tabindex: "0", role: "region", "aria-label": name })];
    const isOne = isNarrow.matches || nPlaces === 0;
    panes = isOne ? [pane("both", t("differences"))] : [pane("a", capital(nameA)), pane("b", capital(nameB))];
    nShown = 0;
    const headed = ([, pane], name) => el("div", {}, el("p", { class: "quiet small" }, name), pane);
    view.replaceChildren(isOne ? panes[0][1] : el("div", { class: "two" }, headed(panes[0], capital(nameA)), headed(panes[1], capital(nameB))));
    show();
    if (at >= 0) go(at);
  };
  const go = (place) => {
    at = (place + nPlaces) % nPlaces;
    while (nShown < all.length && !view.querySelector(`[data-place="${at}"]`)) show();
    for (const marked of view.querySelectorAll(".current")) marked.classList.remove("current");
    for (const [, pane] of panes) {
      const marks = [...pane.querySelectorAll(`[data-place="${at}"]`)];
      for (const mark of marks) mark.classList.add("current");
      if (marks[0]) pane.scrollTop = marks[0].offsetTop - pane.clientHeight / 3;
    }
    where.textContent = t("place", at + 1, nPlaces);
  };
  more.addEventListener("click", show);
  const redraw = () => (view.isConnected ? draw() : isNarrow.removeEventListener("change", redraw));
  isNarrow.addEventListener("change", redraw);
  draw();

  const summary = nPlaces === 0 ? t("same") : t("differs", nPlaces, length("a"), length("b"), nameA, nameB);
  const steps = nPlaces === 0 ? null : el("div", { class: "row steps" },
    el("button", { type: "button", class: "previous", onclick: () => go(at < 0 ? nPlaces - 1 : at - 1) }, t("previous")),
    el("button", { type: "button", class: "next", onclick: () => go(at + 1) }, t("next")), where);
  const key = nPlaces === 0 ? null : el("p", { class: "quiet small" }, el("del", {}, t("onlyIn", nameA)), " ", el("ins", {}, t("onlyIn", nameB)), t("marks"));
  return el("section", { class: "differences" }, el("h3", {}, t("differences")), el("p", {}, summary), key, steps, view, more);
}

