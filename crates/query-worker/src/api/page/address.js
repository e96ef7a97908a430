// The address: what the page shows, to be sent, reloaded and gone back to. A text that is too long
// for it is kept by the browser, in the entry of its history.

/** The longest text in an address; the worker takes addresses of 16 KiB, and one may be encoded. */
const TEXT_MAX = 1000;
/** The longest text in an entry of the history. */
const KEPT_MAX = 1 << 20;

const TABS = ["compare", "index"];

export const fits = (text) => text.length <= TEXT_MAX;

/** Returns what the address says: a tab, and in "find" a text with its bound, an id, or a cluster's. */
export function current() {
  const [params, tab] = [new URLSearchParams(location.search), location.hash.slice(1)];
  const text = params.get("q") ?? history.state?.text ?? null;
  return { tab: TABS.includes(tab) ? tab : "find", text, id: params.get("id"), cluster: params.get("cluster"), bound: params.get("bound") };
}

/** Returns the address of a view. */
export function of({ tab = "find", text = null, id = null, cluster = null, bound = null }) {
  if (tab !== "find") return `${location.pathname}#${tab}`;
  const params = new URLSearchParams();
  if (cluster !== null) params.set("cluster", cluster);
  else if (id !== null) params.set("id", id);
  else if (text !== null && fits(text)) params.set("q", text);
  if (bound !== null && params.size > 0) params.set("bound", bound);
  return params.size > 0 ? `?${params}` : location.pathname;
}

/** Makes a view the current one, as a new entry of the history or in place of the last. */
export function enter(view, isNew) {
  const state = view.text && !fits(view.text) && view.text.length <= KEPT_MAX ? { text: view.text } : null;
  const change = isNew ? history.pushState : history.replaceState;
  change.call(history, state, "", of(view));
}
