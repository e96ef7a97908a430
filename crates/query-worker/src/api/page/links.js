// Links: to documents where they are kept, and to views of this page.

import * as address from "./address.js";
import { el, name } from "./dom.js";

/** Returns where people find a document: its id if that is an address, else by the worker's rule. */
export function placeOf(info, id) {
  if (/^https?:\/\/\S+$/i.test(id) && URL.canParse(id)) return id;
  return info.document_url?.replaceAll("{id}", () => encodeURIComponent(id)) ?? null;
}

/** Returns a link to where a document is; null if that is unknown. */
export function linkTo(info, id, text) {
  const place = placeOf(info, id);
  if (place === null) return null;
  return el("a", { href: place, target: "_blank", rel: "noopener noreferrer", class: "place" }, text ?? name(place, "url"));
}

/** Returns a link to a view of this page, which is entered without loading the page anew. */
export function viewLink(view, text) {
  const open = (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    document.dispatchEvent(new CustomEvent("view", { detail: view }));
  };
  return el("a", { href: address.of(view), onclick: open }, text);
}
