// Compare: two texts beside each other, and the verdict of the index on them.

import { ask, checkLength, index, shown } from "./api.js";
import { contained, nearness, numbersNote } from "./common.js";
import { differencesPart } from "./differences.js";
import { announce, byId, el, onSend } from "./dom.js";
import { distanceWords, whyPart } from "./explain.js";
import { t } from "./words.js";

const TERMS = 1000;
const NAMES = [t("oneText"), t("otherText")];

let asked = null;

export function start() {
  onSend(byId("compare-form"), compare);
}

/** Returns the bound of the index in words, and its verdict if that departs from the bound. */
function rule(info, { similarity, min_similarity: least, is_near: isNear, distance, max_distance: most }) {
  if (least === null) return t("ruleBits", distanceWords(distance), most);
  const said = t("rule", t("orMore", least));
  if (isNear === similarity >= least) return said;
  if (isNear) return `${said} ${t("ruleEstimates")}`;
  if (info.profile === "classic" && distance > most) return `${said} ${t("ruleLooks", most, distance)}`;
  return `${said} ${t("ruleMisses")}`;
}

async function compare() {
  asked?.abort();
  asked = new AbortController();
  const { signal } = asked;
  const [a, b] = [byId("compare-a").value, byId("compare-b").value];
  const answer = byId("compare-answer");
  answer.setAttribute("aria-busy", "true");
  announce(t("comparing"));
  try {
    await checkLength(a, b);
    const info = await index();
    const compared = await ask("POST", "v1/compare", { a: { text: a }, b: { text: b }, terms: TERMS, differences: true }, signal);
    const verdict = t("verdict", t("inCommon", nearness(compared.similarity, compared.exact)), compared.is_near);
    const limit = rule(info, compared);
    announce(`${verdict}. ${limit}`);
    answer.replaceChildren(
      el("div", { class: compared.is_near ? "verdict near" : "verdict" }, el("h2", {}, verdict), el("p", {}, limit), el("p", {}, contained(compared, NAMES)), numbersNote(compared)),
      el("div", { class: "explained" },
        differencesPart(compared.differences, NAMES), whyPart(info, compared, null, compared.terms, NAMES)));
  } catch (error) {
    if (error.name === "AbortError") return;
    answer.replaceChildren(shown(error, compare));
    announce(`${error.title}. ${error.detail}`);
  } finally {
    if (asked.signal === signal) answer.removeAttribute("aria-busy");
  }
}
