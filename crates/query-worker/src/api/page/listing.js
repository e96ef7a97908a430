// A list of documents: a few at first, and only those of a source or of some days, if one asks for
// that. The API finds by neither, so the page chooses among what is listed.

import { el } from "./dom.js";
import { number, t } from "./words.js";

const SHOWN_AT_ONCE = 20;

/** Returns the moment at which a day of a calendar begins where the reader is, or the next one. */
function beginningOf(day, more = 0) {
  const [year, month, date] = day.split("-").map(Number);
  return new Date(year, month - 1, date + more).getTime();
}

/** Returns those of a source (undefined: of any) and of the days `from` to `to` (empty: of all). */
export function chosen(documents, { source, from, to }) {
  const [begin, end] = [from ? beginningOf(from) : -Infinity, to ? beginningOf(to, 1) : Infinity];
  return documents.filter((document) => {
    const at = Date.parse(document.inserted_at);
    return (source === undefined || document.source === source) && !(at < begin) && !(at >= end);
  });
}

/** Returns the controls that choose; null where there is nothing to choose from. */
function filter(documents, choose) {
  if (documents.length < 2) return null;
  const sources = [undefined, ...new Set(documents.map(({ source }) => source).sort())];
  const nameOf = (source) => (source === undefined ? t("all") : source ?? t("noSources"));
  const source = el("select", {}, sources.map((source) => new Option(nameOf(source))));
  const [from, to] = [el("input", { type: "date" }), el("input", { type: "date" })];
  const told = el("span", { class: "quiet small", "aria-live": "polite" });
  const change = () => {
    const left = chosen(documents, { source: sources[source.selectedIndex], from: from.value, to: to.value });
    told.textContent = t("ofListed", number(left.length), number(documents.length));
    choose(left);
  };
  for (const control of [source, from, to]) control.addEventListener("change", change);
  return el("details", { class: "filter" }, el("summary", {}, t("filter")),
    el("div", { class: "row" }, el("label", {}, `${t("source")} `, source), el("label", {}, `${t("from")} `, from),
      el("label", {}, `${t("to")} `, to), told),
    el("p", { class: "quiet small" }, t("filterNote")));
}

/**
 * Fills a list with a row for each document, and returns it between its controls. `told` hears of
 * each portion that is shown.
 */
export function listing(list, documents, row, told = () => {}) {
  const more = el("button", { type: "button", class: "more" });
  let [chosen, shownSoFar] = [documents, 0];
  const show = (isFirst) => {
    const portion = chosen.slice(shownSoFar, shownSoFar + SHOWN_AT_ONCE);
    const rows = portion.map(row);
    list.append(...rows);
    shownSoFar += rows.length;
    const left = chosen.length - shownSoFar;
    more.hidden = left === 0;
    more.textContent = t("showMore", Math.min(left, SHOWN_AT_ONCE), left);
    // The focus moves to the first new row, for users who do not see the list grow.
    if (!isFirst) rows[0].querySelector("summary, a").focus();
    told(portion, rows);
  };
  more.addEventListener("click", () => show(false));
  const bar = filter(documents, (left) => {
    [chosen, shownSoFar] = [left, 0];
    list.replaceChildren();
    show(true);
  });
  show(true);
  return [bar, list, more];
}
