// Documents near a text or a document: a row for each, which opens to what they have in common.

import { ask, checkLength, shown } from "./api.js";
import { inCommonPart, nearness } from "./common.js";
import { differencesPart } from "./differences.js";
import { announce, code, el, name, onSend, time } from "./dom.js";
import { differing, distanceWords, strip, whyPart } from "./explain.js";
import { linkTo, viewLink } from "./links.js";
import { listing } from "./listing.js";
import { t } from "./words.js";

const TERMS = 1000;

/** Browsers take these for steps in a path, even encoded. */
export const isInPath = (id) => ![".", ".."].includes(id);

export const pathOf = (id) => `v1/documents/${encodeURIComponent(id)}`;

/** Returns the nearness of a match in words. */
export const nearnessOf = ({ similarity, exact, distance }) =>
  (similarity === undefined ? t("bits", distance) : t("inCommon", nearness(similarity, exact)));

/** Returns how many documents are near each; none where a worker has too much to do to count. */
export async function nNear(ids, signal) {
  const counts = await ask("POST", "v1/query:batch", ids.map((id) => ({ id, limit: 0 })), signal)
    .catch((error) => { if (error.name === "AbortError") throw error; return []; });
  return ids.map((_, n) => counts[n]?.n_matches ?? null);
}

/**
 * Returns the list of matches of a search, a few at first. A search has the description of the
 * index (`info`), its own `fingerprint`, `names` of the two sides, and a `text` or an `id`. Where
 * matches are of several, `search` is a function that returns that of a match.
 */
export function hits(search, matches) {
  const isVerified = matches[0].similarity !== undefined;
  const list = el("ol", { class: isVerified ? "matches shares" : "matches" });
  const [filter, , more] = listing(list, matches, (match) => row(typeof search === "function" ? search(match) : search, match));
  const note = isVerified && matches.some(({ exact }) => !exact) ? el("p", { class: "quiet small" }, t("estimates")) : null;
  return [filter, note, list, more, el("p", { class: "quiet small keyboard" }, t("keyboard"))];
}

function row(search, match) {
  const share = el("span", { class: "nearness", title: distanceWords(match.distance) }, nearnessOf(match));
  const body = el("div", { class: "explained" });
  const details = el("details", {},
    el("summary", {}, share, name(match.id, "id"),
      el("span", { class: "quiet facts" }, match.source === null ? null : name(match.source, "source"), time(match.inserted_at),
        match.steps > 1 ? el("span", {}, t("via", match.steps), name(match.via, "via")) : null),
      match.similarity === undefined ? strip(search.info.tables, differing(search.fingerprint, match.fingerprint)) : null),
    body);
  let isBegun = false;
  const begin = async () => {
    isBegun = true;
    body.setAttribute("aria-busy", "true");
    try {
      body.replaceChildren(...(await explained(search, match, share)).filter(Boolean));
    } catch (error) {
      body.replaceChildren(shown(error, begin));
    }
    body.removeAttribute("aria-busy");
  };
  details.addEventListener("toggle", () => details.open && !isBegun && begin());
  return el("li", {}, details);
}

/** Explains a match: by its text if this worker has the text, else by its fingerprint. */
async function explained(search, match, share) {
  const { info, text, id, names } = search;
  if (text !== null) await checkLength(text);
  const pair = { a: text === null ? { id } : { text }, b: { id: match.id }, terms: TERMS, differences: true };
  const compared = await ask("POST", "v1/compare", pair);
  // One share: an estimate of the row gives way to a count.
  if (match.similarity !== undefined && compared.similarity !== null) {
    share.textContent = t("inCommon", nearness(compared.similarity, compared.exact));
  }
  const hasTexts = compared.differences !== null;
  const top = actions(search, match.id, { link: hasTexts });
  if (hasTexts) {
    return [top, inCommonPart(compared, names), differencesPart(compared.differences, names), whyPart(info, compared, null, compared.terms, names)];
  }
  const analyzed = text !== null && compared.a.n_terms !== null ? await analysis(search) : null;
  const terms = analyzed?.terms.map(({ term, weight }) => ({ term, weight_a: weight }));
  return [top, inCommonPart(compared, names), withoutText(search, match), whyPart(info, compared, analyzed, terms, names)];
}

/** Returns the terms of the asked text, once for all matches. */
function analysis(search) {
  search.analyzed ??= ask("POST", "v1/analyze", { text: search.text, limit: TERMS }).catch((error) => {
    search.analyzed = null;
    throw error;
  });
  return search.analyzed;
}

/** Returns links from a document, and the button that removes it where the user may. */
export function actions({ info }, id, { link = true, walk = true }) {
  const bar = el("p", { class: "actions" }, link ? linkTo(info, id) : null, walk ? viewLink({ id }, t("walk")) : null,
    viewLink({ cluster: id }, t("cluster")));
  if (info.scopes.includes("admin") && isInPath(id)) {
    bar.append(el("button", { type: "button", class: "plain remove", onclick: (event) => confirmed(bar, event.target, id) }, t("remove")));
  }
  return bar;
}

/** Asks before a document is removed, and removes it. */
function confirmed(bar, button, id) {
  const said = el("p", {}, t("removeSure", id));
  const end = () => {
    box.remove();
    button.hidden = false;
    button.focus();
  };
  const remove = async () => {
    try {
      await ask("DELETE", pathOf(id));
      box.replaceChildren(el("p", {}, t("removed")));
      box.closest("li")?.classList.add("gone");
      announce(t("removed"));
    } catch (error) {
      box.replaceChildren(shown(error, remove));
    }
  };
  const no = el("button", { type: "button", class: "no", onclick: end }, t("removeNo"));
  const box = el("div", { class: "problem", role: "group", "aria-label": t("remove") }, said,
    el("div", { class: "row" }, el("button", { type: "button", class: "yes", onclick: remove }, t("removeYes")), no));
  box.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !no.isConnected) return;
    event.stopPropagation();
    end();
  });
  button.hidden = true;
  bar.after(box);
  no.focus();
}

/** Says where the text is that the worker does not have, with a box to paste it. */
function withoutText(search, match) {
  const link = linkTo(search.info, match.id);
  const there = link ? el("p", {}, t("textIsThere"), link) : null;
  if (search.text === null) return el("section", {}, el("h3", {}, t("differences")), there ?? el("p", {}, t("textIsNowhere")));
  const names = [search.names[0], t("thePasted")];
  const area = el("textarea", { rows: "4", dir: "auto", spellcheck: "false", "aria-label": t("textOf", match.id) });
  const said = el("div", { "aria-live": "polite" });
  const form = el("form", { class: "paste" }, el("h3", {}, t("differences")), there, el("p", {}, t("pasteIt")), area,
    el("div", { class: "row" }, el("button", { type: "submit" }, t("showThem"))), said);
  const send = async () => {
    try {
      await checkLength(search.text, area.value);
      const compared = await ask("POST", "v1/compare", { a: { text: search.text }, b: { text: area.value }, terms: TERMS, differences: true });
      const isOther = compared.b.fingerprint !== match.fingerprint;
      const note = isOther
        ? el("p", { class: "note" }, t("notQuite"), code(compared.b.fingerprint), t("documentsIs"), code(match.fingerprint), ".")
        : null;
      said.replaceChildren(...[note, inCommonPart(compared, names), differencesPart(compared.differences, names)].filter(Boolean));
    } catch (error) {
      said.replaceChildren(shown(error, send));
    }
  };
  onSend(form, send);
  return form;
}
