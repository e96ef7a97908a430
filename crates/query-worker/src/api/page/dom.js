// Elements of the page. Texts become text nodes only, so no text is ever markup.

import { moment } from "./words.js";

/**
 * Returns an element with attributes and children. Attributes `on…` are listeners; `false` and
 * `undefined` leave an attribute out.
 */
export function el(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value !== undefined) element.setAttribute(key, value);
  }
  element.append(...children.flat().filter((child) => child !== undefined && child !== null));
  return element;
}

export const byId = (id) => document.getElementById(id);

export const code = (text) => el("code", {}, text);

/** Announces an event to screen readers. */
export function announce(text) {
  byId("status").textContent = text;
}

/** Returns the time of an insertion, in the reader's time zone. */
export const time = (rfc3339) => el("time", { datetime: rfc3339, title: rfc3339 }, moment(rfc3339));

/** An id or a source: it may be long, right to left, or look like markup. */
export const name = (text, kind) => el("bdi", { class: kind, title: text }, text);

const encoder = new TextEncoder();
export const utf8Length = (text) => encoder.encode(text).length;

/** Sends a form by Ctrl+Enter in any of its texts, too. */
export function onSend(form, send) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send();
  });
  form.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      form.requestSubmit();
    }
  });
}
