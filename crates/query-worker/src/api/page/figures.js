// Index: what people want to know of it first, hashes last.

import { ask, index, shown } from "./api.js";
import { browsePart } from "./browse.js";
import { announce, byId, code, el, time } from "./dom.js";
import { blocks } from "./explain.js";
import { bytes, number, t, timeOfDay } from "./words.js";

/** The most documents that the worker lists. */
const LISTED = 100;
const SECONDS = [["week", 604800], ["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];

export function start() {
  byId("index-again").addEventListener("click", show);
}

function duration(seconds) {
  const [unit, length] = SECONDS.find(([, length]) => seconds % length === 0);
  return t("stayFor", seconds / length, unit);
}

const rows = (pairs) => el("dl", {}, pairs.map(([what, value]) => el("div", {}, el("dt", {}, what), el("dd", {}, value))));

/** Each table's bits that must agree, in the blocks of the scheme. */
function drawing(tables) {
  const all = blocks(tables);
  return el("div", { class: "tables" }, tables.map((mask, n) => {
    const has = (bit) => ((BigInt(`0x${mask}`) >> BigInt(bit)) & 1n) === 1n;
    const chosen = all.flatMap((block, n) => (has(block[0]) ? [n + 1] : []));
    const bits = all.flat().filter(has).length;
    return el("div", {}, el("span", { class: "quiet small" }, String(n + 1)),
      el("span", { class: "strip", role: "img", "aria-label": t("table", n + 1, bits, chosen) },
        all.map((block) => el("span", {}, block.map((bit) => el("i", { class: has(bit) ? "chosen" : undefined }))))));
  }));
}

/** What people want to know of the contents. */
function contents(info, latest) {
  const { n_documents: n, texts, document_url: url } = info;
  const sources = latest.sources.length === 0 ? t("noSources") : `${latest.sources.join(", ")} (${t("sourcesOf", latest.n_read)})`;
  const last = latest.are_latest && latest.documents.length > 0 ? time(latest.documents[0].inserted_at) : null;
  const kept = texts !== "none" ? t("textsKept") : url ? [t("textsAt"), code(url)] : t("textsNotKept");
  return rows([
    [t("documentsHead"), n === null ? t("notCounted") : number(n)],
    last ? [t("lastWrittenHead"), last] : null,
    [t("sourcesHead"), sources],
    [t("textsHead"), kept],
    [t("nearDuplicates"), info.min_similarity === null ? t("upToBits", info.max_distance) : t("inCommon", t("orMore", info.min_similarity))],
    info.min_similarity === null ? null : [t("numbersHead"), t(info.same_numbers ? "sameNumbers" : "anyNumbers")],
    [t("stay"), info.retain_seconds === null ? t("untilRemoved") : duration(info.retain_seconds)],
    [t("storeHead"), code(info.store)],
    [t("yourKey"), t("scopes", info.scopes)],
  ].filter(Boolean));
}

function worker(info) {
  const isNone = info.recent_texts_bytes_max === 0;
  return rows([
    [t("recentTexts"), isNone ? t("recentNone") : t("recentSome", info.n_recent_texts, bytes(info.recent_texts_bytes_max))],
    [t("longestText"), bytes(info.text_bytes_max)],
    [t("largestRequest"), bytes(info.body_bytes_max)],
    [t("longestBatch"), t("lines", info.batch_lines_max)],
  ]);
}

/** How documents are compared, in full. */
function details(info) {
  const recipe = Object.entries(info.recipe).map(([key, value]) => [key.replaceAll("_", " "), code(value)]);
  const facts = [
    [t("foundByHead"), [`${t("ways", info.profile)} (`, code(info.profile), ")"]],
    [t("format"), t("version", info.format_version)],
    [t("identity"), code(info.identity)],
  ];
  return el("details", { class: "how" }, el("summary", {}, t("howItWorks")),
    rows(facts),
    info.n_tables === 0 ? null : el("section", {}, el("h3", {}, t("scheme")),
      el("p", {}, code(info.scheme), t("schemeIs", info.n_tables)), drawing(info.tables)),
    el("h3", {}, t("recipe")), rows(recipe));
}

export async function show() {
  const answer = byId("index-answer");
  const wasOpen = answer.querySelector(".how")?.open ?? false;
  answer.setAttribute("aria-busy", "true");
  try {
    const info = await index(true);
    const latest = await ask("GET", `v1/documents?limit=${LISTED}`);
    byId("index-asked").textContent = t("asOf", timeOfDay());
    const how = details(info);
    how.open = wasOpen;
    answer.replaceChildren(...[
      el("div", { class: "columns" },
        el("section", {}, el("h2", {}, t("index")), contents(info, latest)),
        el("section", {}, el("h2", {}, t("thisWorker")), worker(info))),
      browsePart(latest), how].filter(Boolean));
    announce(t("figuresThere"));
  } catch (error) {
    answer.replaceChildren(shown(error, show));
    announce(`${error.title}. ${error.detail}`);
  }
  answer.removeAttribute("aria-busy");
}
