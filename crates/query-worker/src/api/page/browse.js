// Browsing: documents of the index, the latest first, with links to them and to their clusters.

import { el, name, time } from "./dom.js";
import { nNear } from "./hits.js";
import { viewLink } from "./links.js";
import { listing } from "./listing.js";
import { t } from "./words.js";

const BEGINNING_SHOWN = 160;

/** Returns the beginning of a text in one line. */
export const line = (beginning) => [...beginning.replace(/\s+/g, " ")].slice(0, BEGINNING_SHOWN).join("");

function row({ id, source, inserted_at: at, beginning }) {
  const link = viewLink({ id }, name(id, "id"));
  return el("li", {}, link, beginning === null ? null : el("span", { class: "small", dir: "auto" }, line(beginning)),
    el("span", { class: "quiet facts" }, source === null ? null : name(source, "source"), time(at), el("span", { class: "near" })));
}

/** Says of each row how many are near, with a link to the cluster. */
async function count(documents, rows) {
  if (documents.length === 0) return;
  const counts = await nNear(documents.map(({ id }) => id));
  rows.forEach((row, n) => {
    if (!(counts[n] > 0)) return;
    row.querySelector(".near").append(viewLink({ cluster: documents[n].id }, t("clusterWith", counts[n])));
  });
}

/** Returns the part with the documents of an answer of /v1/documents. */
export function browsePart({ documents, are_latest: areLatest }) {
  if (documents.length === 0) return null;
  const list = el("ol", { class: "examples browsed" });
  // A failure is said where one asks for a document; the counts are none's question.
  const parts = listing(list, documents, row, (portion, rows) => count(portion, rows).catch(() => {}));
  return el("section", { class: "browse" }, el("h2", {}, t(areLatest ? "latestDocuments" : "someDocuments", documents.length)), parts);
}
