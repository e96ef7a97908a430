// The page: its tabs, and its header.

import { forgetKey, index } from "./page/api.js";
import { announce, byId, bytes, count, utf8Length } from "./page/dom.js";
import * as compare from "./page/compare.js";
import * as figures from "./page/figures.js";
import * as find from "./page/find.js";

const NAMES = ["find", "compare", "index"];
const tabs = NAMES.map((name) => byId(`tab-${name}`));

/** Shows one part. The address remembers which, and never a text. */
function select(name, { focus = false, remember = true } = {}) {
  NAMES.forEach((other, n) => {
    const isChosen = other === name;
    tabs[n].setAttribute("aria-selected", String(isChosen));
    tabs[n].tabIndex = isChosen ? 0 : -1;
    byId(`panel-${other}`).hidden = !isChosen;
    if (isChosen && focus) tabs[n].focus();
  });
  if (remember) history.replaceState(null, "", `#${name}`);
  if (name === "index") figures.show();
}

const ofAddress = () => (NAMES.includes(location.hash.slice(1)) ? location.hash.slice(1) : "find");

tabs.forEach((tab, n) => {
  tab.addEventListener("click", () => select(NAMES[n]));
  tab.addEventListener("keydown", (event) => {
    const to = { ArrowRight: n + 1, ArrowLeft: n - 1, Home: 0, End: NAMES.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    select(NAMES.at(to % NAMES.length), { focus: true });
  });
});
window.addEventListener("hashchange", () => select(ofAddress(), { remember: false }));

for (const area of document.querySelectorAll("textarea")) {
  const size = byId(area.getAttribute("aria-describedby"));
  const show = () => {
    size.textContent = area.value ? `${count([...area.value].length, "character")}, ${bytes(utf8Length(area.value))}` : "";
  };
  area.addEventListener("input", show);
  // A browser that returns to the page restores the typed text.
  show();
}

byId("forget-key").addEventListener("click", () => {
  forgetKey();
  announce("The key is forgotten.");
});

find.start();
compare.start();
figures.start();
select(ofAddress(), { remember: false });

// The forms need the description of the index. A failure here is shown by the first request.
index().then((info) => {
  byId("where").textContent = info.store;
  find.setBounds(info);
}, () => {});
