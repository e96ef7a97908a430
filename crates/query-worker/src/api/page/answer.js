// The place of an answer: one request at a time, of which a later one has the last word.

import { shown } from "./api.js";
import { announce, byId } from "./dom.js";

let asked = null;

/** Shows what `make` returns, or its failure, unless a later call begins meanwhile. */
export async function answering(said, make) {
  asked?.abort();
  asked = new AbortController();
  const { signal } = asked;
  const answer = byId("find-answer");
  answer.setAttribute("aria-busy", "true");
  if (said) announce(said);
  try {
    const parts = await make(signal);
    // A later search may have been answered meanwhile.
    signal.throwIfAborted();
    answer.replaceChildren(...parts.filter(Boolean));
  } catch (error) {
    if (signal.aborted || error.name === "AbortError") return;
    answer.replaceChildren(shown(error, () => answering(said, make)));
    announce(`${error.title}. ${error.detail}`);
  } finally {
    if (asked.signal === signal) answer.removeAttribute("aria-busy");
  }
}
