// One document by its id: its text, and the documents near it, from which one walks on.

import { ask, index } from "./api.js";
import { answering } from "./answer.js";
import { foldedText } from "./differences.js";
import { announce, el, name, time } from "./dom.js";
import { actions, hits, isInPath, pathOf } from "./hits.js";
import { linkTo } from "./links.js";
import { t } from "./words.js";

/** The most documents that the worker lists. */
const LIMIT = 1000;
const BELOW = 5;

/** Looks a document up. */
export function show(id) {
  return answering(t("searching"), async (signal) => {
    const info = await index();
    const stored = isInPath(id) ? await ask("GET", pathOf(id), undefined, signal) : null;
    const below = info.min_similarity === null ? {} : { below: BELOW };
    const found = await ask("POST", "v1/query", { id, limit: LIMIT, ...below }, signal);
    const kept = stored?.has_text ? await ask("GET", `${pathOf(id)}/text`, undefined, signal) : null;
    const search = { info, text: null, id, fingerprint: found.fingerprint, names: [t("thisDocument"), t("theOtherDocument")], analyzed: null };
    return [about(search, stored, kept), ...near(search, found)];
  });
}

function about(search, stored, kept) {
  const { info, id } = search;
  const facts = stored === null ? null : el("p", { class: "quiet facts" },
    stored.source === null ? null : el("span", {}, t("source"), t("colon"), name(stored.source, "source")),
    el("span", {}, t("inIndexSince"), t("colon"), time(stored.inserted_at)));
  const link = linkTo(info, id);
  const away = el("p", {}, link ? [t("textIsThere"), link] : t("textIsNowhere"));
  return el("article", { class: "document" }, el("h2", {}, name(id, "id")), facts, actions(search, id, { link: kept !== null, walk: false }),
    kept === null ? away : [el("h3", {}, t("itsText")), foldedText(kept.text, t("itsText"))]);
}

function near(search, { matches, n_matches: n, nearest_below: below = [] }) {
  const title = n === 0 ? t("noneNearThis") : t("nearThis", n);
  const cut = n > matches.length && n > 0 ? el("p", {}, t("nearestListed", matches.length)) : null;
  announce(title);
  if (n > 0) return [el("h2", {}, title), cut, ...hits(search, matches)];
  return [el("h2", {}, title), ...(below.length > 0 ? [el("h3", {}, t("nearestBelow")), ...hits(search, below)] : [])];
}
