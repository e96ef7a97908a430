// What two texts have in common, in words.

import { el, share } from "./dom.js";

/** A bound on what they share. */
export const isOrMore = (part) => (part === 1 ? "100 %" : `${Number((100 * part).toFixed(2))} % or more`);

/** How much of each is in the other. */
export function contained({ a, b }, [nameA, nameB]) {
  return `${share(a.share, 1)} of ${nameA} is in ${nameB}, and ${share(b.share, 1)} of ${nameB} in ${nameA}.`;
}

/** What runs of characters do not show: 1000 has the same as 10000. */
export const numbersNote = ({ numbers_differ: differ }) => (differ ? el("p", { class: "note" }, "The numbers in them differ.") : null);

/** What two sides share: `compared` is an answer of /v1/compare. Nothing where it is not known. */
export function inCommonPart(compared, names) {
  if (compared.similarity === null) return null;
  // Only where both texts are at hand can they be counted.
  const isCounted = compared.numbers_differ !== null;
  const how = isCounted ? "Counted in the texts" : "By the signatures, which estimate it for texts of more than 50 characters";
  return el("section", { class: "common" }, el("h3", {}, "In common"),
    el("p", {}, el("strong", {}, share(compared.similarity, 1)), ` of what either has. ${contained(compared, names)}`),
    numbersNote(compared),
    el("p", { class: "quiet small" }, `${how}: runs of five characters, in Chinese of four, in short texts of two, without case, width, punctuation or repetitions.`));
}
