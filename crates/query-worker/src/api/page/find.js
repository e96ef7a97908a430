// Find: the documents near a text, nearest first.

import { ask, checkLength, index, shown } from "./api.js";
import { inCommonPart, isOrMore } from "./common.js";
import { announce, byId, count, el, name, number, onSend, share, time } from "./dom.js";
import { differencesPart, differing, distanceWords, strip, whyPart } from "./explain.js";

/** The most matches that the worker lists. */
const LIMIT = 1000;
const SHOWN_AT_ONCE = 20;
const TERMS = 1000;
const NAMES = ["your text", "the document"];

let asked = null;

/** Fills in the choice of a bound on nearness: the bound of the index, or narrower ones. */
export function setBounds({ min_similarity: least, max_distance: most }) {
  const label = byId("find-bound");
  if (!label.hidden) return;
  const choice = el("select", { id: "find-nearness" });
  if (least === null) {
    for (let distance = 0; distance <= most; distance += 1) choice.append(new Option(String(distance)));
    choice.value = String(most);
    label.append("At most ", choice, " bits apart");
  } else {
    const steps = [...Array(20).keys()].map((n) => (n + 1) / 20).filter((step) => step > least);
    for (const step of [least, ...steps]) choice.append(new Option(`${Number((100 * step).toFixed(2))} %`, String(step)));
    label.append("At least ", choice, " in common");
  }
  label.hidden = false;
}

/** Returns the chosen bound, as fields of a query and in words. */
function chosen(info) {
  const bound = Number(byId("find-nearness").value);
  if (info.min_similarity !== null) return [{ min_similarity: bound }, `with ${isOrMore(bound)} in common`];
  return [{ max_distance: bound }, bound === 0 ? "with the same fingerprint" : `within ${count(bound, "bit")}`];
}

const nearnessOf = ({ similarity, distance }) => (similarity === undefined ? count(distance, "bit") : `${share(similarity)} in common`);

export function start() {
  onSend(byId("find-form"), find);
}

async function find() {
  asked?.abort();
  asked = new AbortController();
  const { signal } = asked;
  const text = byId("find-text").value;
  const answer = byId("find-answer");
  answer.setAttribute("aria-busy", "true");
  announce("Searching");
  try {
    await checkLength(text);
    const info = await index();
    setBounds(info);
    const [bound, within] = chosen(info);
    const found = await ask("POST", "v1/query", { text, limit: LIMIT, ...bound }, signal);
    const parts = await results(info, { ...found, text, within });
    // A later search may have been answered meanwhile.
    signal.throwIfAborted();
    answer.replaceChildren(...parts);
  } catch (error) {
    if (error.name === "AbortError") return;
    answer.replaceChildren(shown(error, find));
    announce(`${error.title}. ${error.detail}`);
  } finally {
    if (asked.signal === signal) answer.removeAttribute("aria-busy");
  }
}

async function results(info, found) {
  const { matches, n_matches: n, within } = found;
  if (n === 0) {
    const { n_documents: documents } = await index(true);
    const title = documents === 0 ? "The index is empty" : `No document ${within}`;
    const detail = documents === 0
      ? "Nothing has been put into it: post documents to /v1/documents, or run the indexer on it."
      : "Nothing in the index is near to this text. A short text has near-duplicates only among those of nearly the same words.";
    announce(title);
    return [el("div", { class: "none" }, el("h2", {}, title), el("p", {}, detail), el("p", { class: "quiet small" }, "Its fingerprint is ", el("code", {}, found.fingerprint), "."))];
  }
  const isVerified = matches[0].similarity !== undefined;
  const title = `${count(n, "document")} ${within}`;
  const cut = n > matches.length ? ` The nearest ${number(matches.length)} are listed.` : "";
  announce(`${title}, the nearest ${isVerified ? "with" : "at"} ${nearnessOf(matches[0])}.${cut}`);
  const list = el("ol", { class: isVerified ? "matches shares" : "matches" });
  const more = el("button", { type: "button" });
  const search = { info, ...found, analyzed: null };
  let shownSoFar = 0;
  const show = (isFirst) => {
    const next = matches.slice(shownSoFar, shownSoFar + SHOWN_AT_ONCE).map((match) => matchItem(search, match));
    list.append(...next);
    shownSoFar += next.length;
    const left = matches.length - shownSoFar;
    more.hidden = left === 0;
    more.textContent = `Show ${number(Math.min(left, SHOWN_AT_ONCE))} more of ${number(left)}`;
    // The focus moves to the first new match, for users who do not see the list grow.
    if (!isFirst) next[0].querySelector("summary").focus();
  };
  more.addEventListener("click", () => show(false));
  show(true);
  list.querySelector("details").open = true;
  const note = isVerified
    ? el("p", { class: "quiet small" }, "For texts of more than 50 characters the shares are estimates. In a document that is opened they are counted, where its text is at hand.")
    : null;
  return [el("h2", {}, title), cut ? el("p", {}, cut) : null, note, list, more].filter(Boolean);
}

function matchItem(search, match) {
  const body = el("div", { class: "explained" });
  const details = el("details", {},
    el("summary", {},
      el("span", { class: "nearness", title: distanceWords(match.distance) }, nearnessOf(match)),
      name(match.id, "id"),
      el("span", { class: "quiet facts" }, match.source === null ? null : name(match.source, "source"), time(match.inserted_at)),
      match.similarity === undefined ? strip(search.info.tables, differing(search.fingerprint, match.fingerprint)) : null),
    body);
  let isBegun = false;
  const begin = async () => {
    isBegun = true;
    body.setAttribute("aria-busy", "true");
    try {
      body.replaceChildren(...(await explained(search, match)).filter(Boolean));
    } catch (error) {
      body.replaceChildren(shown(error, begin));
    }
    body.removeAttribute("aria-busy");
  };
  details.addEventListener("toggle", () => details.open && !isBegun && begin());
  return el("li", {}, details);
}

/** Explains a match: by its text if this worker has the text, else by its fingerprint. */
async function explained(search, match) {
  // Browsers take these for steps in the path, even encoded.
  if ([".", ".."].includes(match.id)) return withoutText(search, match, "A browser cannot ask for the text of a document of this id.");
  let kept;
  try {
    kept = await ask("GET", `v1/documents/${encodeURIComponent(match.id)}/text`);
  } catch (error) {
    if (error.kind !== "no-text") throw error;
    return withoutText(search, match, error.detail);
  }
  return withText(search, kept.text);
}

async function withText(search, text) {
  const pair = { a: { text: search.text }, b: { text }, terms: TERMS, differences: true };
  await checkLength(search.text, text);
  const compared = await ask("POST", "v1/compare", pair);
  return [
    inCommonPart(compared, NAMES),
    differencesPart(compared.differences, NAMES),
    whyPart(search.info, compared, null, compared.terms, NAMES),
  ];
}

async function withoutText(search, match, why) {
  search.analyzed ??= ask("POST", "v1/analyze", { text: search.text, limit: TERMS }).catch((error) => {
    search.analyzed = null;
    throw error;
  });
  const pair = { a: { text: search.text }, b: { id: match.id } };
  const [analyzed, compared] = await Promise.all([search.analyzed, ask("POST", "v1/compare", pair)]);
  const terms = analyzed.terms.map(({ term, weight }) => ({ term, weight_a: weight }));
  return [inCommonPart(compared, NAMES), pasteBox(search, match, why), whyPart(search.info, compared, analyzed, terms, NAMES)];
}

/** Returns a box to paste the text that the worker does not have. */
function pasteBox(search, match, why) {
  const area = el("textarea", { rows: "4", dir: "auto", spellcheck: "false", "aria-label": `The text of ${match.id}` });
  const said = el("div", { "aria-live": "polite" });
  const form = el("form", { class: "paste" },
    el("h3", {}, "Differences"),
    el("p", {}, `${why} Paste it to see the differences.`),
    area,
    el("div", { class: "row" }, el("button", { type: "submit" }, "Show the differences")),
    said);
  const send = async () => {
    try {
      const pair = { a: { text: search.text }, b: { text: area.value }, terms: TERMS, differences: true };
      await checkLength(search.text, area.value);
      const compared = await ask("POST", "v1/compare", pair);
      const isOther = compared.b.fingerprint !== match.fingerprint;
      const note = isOther
        ? el("p", { class: "note" }, "This is not quite the text that was indexed: its fingerprint is ", el("code", {}, compared.b.fingerprint), ", and the document's is ", el("code", {}, match.fingerprint), ".")
        : null;
      said.replaceChildren(...[note, inCommonPart(compared, [NAMES[0], "the pasted text"]), differencesPart(compared.differences, [NAMES[0], "the pasted text"])].filter(Boolean));
    } catch (error) {
      said.replaceChildren(shown(error, send));
    }
  };
  onSend(form, send);
  return form;
}
