// Find: the documents near a text, nearest first; and the nearest below the bound, if none is near.

import * as address from "./address.js";
import { ask, checkLength, index } from "./api.js";
import { answering } from "./answer.js";
import { announce, byId, code, el } from "./dom.js";
import { hits, nearnessOf } from "./hits.js";
import { t } from "./words.js";

/** The most matches that the worker lists. */
const LIMIT = 1000;
/** Documents below the bound that are shown where none is near. */
const BELOW = 5;

/** Fills in the choice of a bound on nearness: the bound of the index, or narrower ones. */
export function setBounds({ min_similarity: least, max_distance: most }) {
  const label = byId("find-bound");
  if (!label.hidden) return;
  const choice = el("select", { id: "find-nearness" });
  if (least === null) {
    for (let distance = 0; distance <= most; distance += 1) choice.append(new Option(String(distance)));
    choice.value = String(most);
    label.append(`${t("atMost")} `, choice, ` ${t("bitsApart")}`);
  } else {
    const steps = [...Array(20).keys()].map((n) => (n + 1) / 20).filter((step) => step > least);
    for (const step of [least, ...steps]) choice.append(new Option(`${Number((100 * step).toFixed(2))} %`, String(step)));
    label.append(`${t("atLeast")} `, choice, ` ${t("inCommonBound")}`);
  }
  for (const option of choice.options) option.defaultSelected = option.selected;
  label.hidden = false;
}

/** Returns the chosen bound for an address; null for that of the index. */
export function bound() {
  const chosen = byId("find-nearness")?.selectedOptions[0];
  return chosen && !chosen.defaultSelected ? chosen.value : null;
}

function choose(bound) {
  const options = [...byId("find-nearness").options];
  const chosen = options.find(({ value }) => value === bound) ?? options.find(({ defaultSelected }) => defaultSelected);
  chosen.selected = true;
}

/** Returns the chosen bound, as fields of a query and in words. */
function chosen(info) {
  const bound = Number(byId("find-nearness").value);
  if (info.min_similarity !== null) return [{ min_similarity: bound, below: BELOW }, t("withInCommon", t("orMore", bound))];
  return [{ max_distance: bound }, bound === 0 ? t("sameFingerprint") : t("withinBits", bound)];
}

/** Searches for a text. */
export function show({ text, bound }) {
  return answering(t("searching"), async (signal) => {
    await checkLength(text);
    const info = await index();
    setBounds(info);
    choose(bound);
    const [fields, within] = chosen(info);
    const found = await ask("POST", "v1/query", { text, limit: LIMIT, ...fields }, signal);
    const search = { info, text, id: null, fingerprint: found.fingerprint, names: [t("yours"), t("theDocument")], analyzed: null };
    const unsent = address.fits(text) ? null : el("p", { class: "quiet small" }, t("noAddress"));
    return found.n_matches === 0 ? [...(await missed(search, found, within, signal)), unsent] : [...near(search, found, within), unsent];
  });
}

function near(search, { matches, n_matches: n }, within) {
  const title = t("foundSuch", n, within);
  const cut = n > matches.length ? t("nearestListed", matches.length) : "";
  announce(`${t("nearestWith", title, nearnessOf(matches[0]))} ${cut}`.trim());
  const parts = hits(search, matches);
  parts.find((part) => part?.matches("ol"))?.querySelector("details").setAttribute("open", "");
  return [el("h2", {}, title), cut ? el("p", {}, cut) : null, ...parts];
}

/** Says that nothing is near, what was compared, and what comes nearest. */
async function missed(search, found, within, signal) {
  const { n_documents: documents } = await index(true);
  signal.throwIfAborted();
  const isEmpty = documents === 0;
  const title = isEmpty ? t("emptyIndex") : t("noneSuch", within);
  const below = found.nearest_below ?? [];
  const { n_buckets: buckets, n_candidates: candidates } = found.cost;
  const read = candidates === 0 ? t("noneMet", buckets) : t("wasRead", buckets, candidates);
  const why = [read, candidates === 0 ? null : t("noneCompared"), t("shortTexts")].filter(Boolean).join(" ");
  announce(title);
  const box = el("div", { class: "none" }, el("h2", {}, title),
    el("p", {}, isEmpty ? t("fillIt") : below.length > 0 ? read : why),
    found.note ? el("p", {}, found.note) : null,
    el("p", { class: "quiet small" }, t("fingerprintIs"), code(found.fingerprint)));
  return below.length > 0 ? [box, el("h2", {}, t("nearestBelow")), ...hits(search, below)] : [box];
}
