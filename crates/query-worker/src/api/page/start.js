// The beginning: what the index holds, and examples made of it.

import { ask, index } from "./api.js";
import { answering } from "./answer.js";
import { line } from "./browse.js";
import { el, name } from "./dom.js";
import { isInPath, nNear, pathOf } from "./hits.js";
import { viewLink } from "./links.js";
import { moment, t } from "./words.js";

const EXAMPLES = 3;
/** Documents of which the examples are chosen: first those that have others near. */
const LOOKED_AT = 20;
const SOURCES_SHOWN = 5;

export function show() {
  return answering("", async (signal) => {
    // One after another: a key may have a bound on requests under way.
    const info = await index(true);
    const listed = await ask("GET", `v1/documents?limit=${LOOKED_AT}`, undefined, signal);
    const isEmpty = info.n_documents === 0 || listed.documents.length === 0;
    if (isEmpty) return [el("div", { class: "none" }, el("h2", {}, t("emptyIndex")), el("p", {}, t("fillIt")))];
    const examples = await chosen(listed.documents, signal);
    return [el("section", { class: "start" }, el("h2", {}, t("whatIsHere")), el("p", {}, summary(info, listed)),
      el("h3", {}, t("tryOne")), el("ul", { class: "examples" }, examples.map(example)))];
  });
}

function summary(info, listed) {
  const { documents, sources, are_latest: areLatest } = listed;
  const names = sources.slice(0, SOURCES_SHOWN).join(", ");
  return [
    info.n_documents === null ? t("holdsSome") : t("holds", info.n_documents),
    areLatest ? t("lastWritten", moment(documents[0].inserted_at)) : null,
    sources.length > 0 ? t("theSources", names, sources.length - SOURCES_SHOWN > 0 ? sources.length - SOURCES_SHOWN : 0) : null,
  ].filter(Boolean).join(" ");
}

/** Chooses examples: documents with others near them first, which show more. */
async function chosen(documents, signal) {
  const counts = await nNear(documents.map(({ id }) => id), signal);
  const counted = documents.map((document, n) => ({ ...document, n_near: counts[n] }));
  return counted.sort((a, b) => Number(b.n_near > 0) - Number(a.n_near > 0)).slice(0, EXAMPLES);
}

/** An example asks with the text of a document, where that is at hand, else by its id. */
function example({ id, beginning, n_near: n }) {
  const hasText = beginning !== null && isInPath(id);
  const link = viewLink({ id }, hasText ? line(beginning) : id);
  link.dir = "auto";
  if (hasText) {
    link.addEventListener("click", async (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.stopImmediatePropagation();
      event.preventDefault();
      const { text } = await ask("GET", `${pathOf(id)}/text`).catch(() => ({ text: null }));
      document.dispatchEvent(new CustomEvent("view", { detail: text === null ? { id } : { text } }));
    }, { capture: true });
  }
  const near = n === null ? null : el("span", { class: "quiet small" }, t("nearOnes", n));
  return el("li", {}, link, el("span", { class: "facts quiet" }, hasText ? name(id, "id") : null, near));
}
