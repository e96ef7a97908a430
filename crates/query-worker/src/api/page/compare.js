// Compare: two texts beside each other, and whether the index would take the one for the other.

import { ask, checkLength, index, shown } from "./api.js";
import { announce, byId, count, el, onSend } from "./dom.js";
import { bitsPart, differencesPart, distanceWords, termsPart } from "./explain.js";

const TERMS = 1000;
const NAMES = ["the one text", "the other"];

let asked = null;

export function start() {
  onSend(byId("compare-form"), compare);
}

async function compare() {
  asked?.abort();
  asked = new AbortController();
  const { signal } = asked;
  const [a, b] = [byId("compare-a").value, byId("compare-b").value];
  const answer = byId("compare-answer");
  answer.setAttribute("aria-busy", "true");
  announce("Comparing");
  try {
    await checkLength(a, b);
    const info = await index();
    const compared = await ask("POST", "v1/compare", { a: { text: a }, b: { text: b }, terms: TERMS, differences: true }, signal);
    const verdict = compared.is_near ? "Near-duplicates" : "Not near-duplicates";
    const limit = `${distanceWords(compared.distance)}; this index takes texts for near-duplicates up to ${count(compared.max_distance, "bit")}.`;
    announce(`${verdict}. ${limit}`);
    answer.replaceChildren(
      el("div", { class: compared.is_near ? "verdict near" : "verdict" }, el("h2", {}, verdict), el("p", {}, limit)),
      el("div", { class: "explained" },
        differencesPart(compared.differences, NAMES), bitsPart(info, compared, null, NAMES), termsPart(compared.terms, NAMES)));
  } catch (error) {
    if (error.name === "AbortError") return;
    answer.replaceChildren(shown(error, compare));
    announce(`${error.title}. ${error.detail}`);
  } finally {
    if (asked.signal === signal) answer.removeAttribute("aria-busy");
  }
}
