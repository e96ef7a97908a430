// Index: the worker's description of the index.

import { index, shown } from "./api.js";
import { isOrMore } from "./common.js";
import { announce, byId, bytes, count, el, number } from "./dom.js";
import { blocks } from "./explain.js";

const SECONDS = [["week", 604800], ["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];

/** Features by which documents are found, by profile. */
const FOUND_BY = { classic: "the bits of simhashes", minhash: "runs of characters", full: "the bits of simhashes, and runs of characters" };

export function start() {
  byId("index-again").addEventListener("click", show);
}

function duration(seconds) {
  const [unit, length] = SECONDS.find(([, length]) => seconds % length === 0);
  return count(seconds / length, unit);
}

const rows = (pairs) => el("dl", {}, pairs.map(([what, value]) => el("div", {}, el("dt", {}, what), el("dd", {}, value))));
const code = (text) => el("code", {}, text);

/** Each table's bits that must agree, in the blocks of the scheme. */
function drawing(tables) {
  const all = blocks(tables);
  return el("div", { class: "tables" }, tables.map((mask, n) => {
    const has = (bit) => ((BigInt(`0x${mask}`) >> BigInt(bit)) & 1n) === 1n;
    const chosen = all.flatMap((block, n) => (has(block[0]) ? [n + 1] : []));
    const bits = all.flat().filter(has).length;
    return el("div", {}, el("span", { class: "quiet small" }, String(n + 1)),
      el("span", { class: "strip", role: "img", "aria-label": `Table ${n + 1}: the ${count(bits, "bit")} of the blocks ${chosen.join(", ")} must agree` },
        all.map((block) => el("span", {}, block.map((bit) => el("i", { class: has(bit) ? "chosen" : undefined }))))));
  }));
}

export async function show() {
  const answer = byId("index-answer");
  answer.setAttribute("aria-busy", "true");
  try {
    const info = await index(true);
    byId("index-asked").textContent = `as of ${new Date().toLocaleTimeString("en-GB")}`;
    const kept = info.recent_texts_bytes_max === 0 ? "none (--recent-texts-bytes-max 0)" : `${number(info.n_recent_texts)}, in at most ${bytes(info.recent_texts_bytes_max)} of memory`;
    answer.replaceChildren(
      el("div", { class: "columns" },
        el("section", {}, el("h2", {}, "Index"), rows([
          ["Documents", info.n_documents === null ? "not counted by this store" : number(info.n_documents)],
          ["Store", code(info.store)],
          ["Near-duplicates", info.min_similarity === null ? `up to ${count(info.max_distance, "bit")} of 64 apart` : `${isOrMore(info.min_similarity)} in common`],
          ["Found by", [`${FOUND_BY[info.profile]} (`, code(info.profile), ")"]],
          ["Documents stay", info.retain_seconds === null ? "until they are removed" : `for ${duration(info.retain_seconds)}`],
          ["Format", `version ${info.format_version}`],
        ]), el("h2", {}, "This worker"), rows([
          ["Texts kept", kept],
          ["Longest text", bytes(info.text_bytes_max)],
          ["Largest request", bytes(info.body_bytes_max)],
          ["Longest batch", count(info.batch_lines_max, "line")],
        ])),
        el("section", {}, el("h2", {}, "Recipe"), rows(Object.entries(info.recipe).map(([key, value]) => [key.replaceAll("_", " "), code(value)])))),
      info.n_tables === 0 ? "" : el("section", {}, el("h2", {}, "Scheme"),
        el("p", {}, code(info.scheme), `: ${count(info.n_tables, "table")}. Two fingerprints meet where all the bits that a table has marked agree.`),
        drawing(info.tables)));
    announce("The figures are there.");
  } catch (error) {
    answer.replaceChildren(shown(error, show));
    announce(`${error.title}. ${error.detail}`);
  }
  answer.removeAttribute("aria-busy");
}
