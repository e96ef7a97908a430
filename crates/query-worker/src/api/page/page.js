// The page: its tabs and its header, and what its address says.

import * as address from "./page/address.js";
import { forgetKey, index } from "./page/api.js";
import * as cluster from "./page/cluster.js";
import * as compare from "./page/compare.js";
import * as documents from "./page/document.js";
import { announce, byId, onSend, utf8Length } from "./page/dom.js";
import * as figures from "./page/figures.js";
import * as file from "./page/file.js";
import * as find from "./page/find.js";
import * as keys from "./page/keys.js";
import * as beginning from "./page/start.js";
import { bytes, t, translate } from "./page/words.js";

translate(document);

const NAMES = ["find", "compare", "index"];
const tabs = NAMES.map((name) => byId(`tab-${name}`));

/** The view of "find" that is on the page, to which its tab leads back. */
let found = { tab: "find" };
/** The same as it was asked for; null before. */
let shown = null;

function select(name) {
  NAMES.forEach((other, n) => {
    const isChosen = other === name;
    tabs[n].setAttribute("aria-selected", String(isChosen));
    tabs[n].tabIndex = isChosen ? 0 : -1;
    byId(`panel-${other}`).hidden = !isChosen;
  });
}

const write = (area, text) => {
  area.value = text;
  area.dispatchEvent(new Event("input"));
};

/** Shows a view. What is on the page already is not asked for again, unless `isAgain`. */
function show(view, isAgain = false) {
  select(view.tab);
  if (view.tab === "index") return figures.show();
  if (view.tab === "compare") return undefined;
  found = view;
  const { text = null, id = null, cluster: of = null } = view;
  const asked = JSON.stringify([text, id, of, view.bound ?? null]);
  if (asked === shown && !isAgain) return undefined;
  shown = asked;
  byId("find-id").value = id ?? of ?? "";
  if (of !== null) return cluster.show(of);
  if (id !== null) return documents.show(id);
  if (text === null) return beginning.show();
  if (byId("find-text").value !== text) write(byId("find-text"), text);
  return find.show({ text, bound: view.bound ?? null });
}

/** Enters a view: it gets an entry of its own in the history, unless it is there already. */
function enter(view, { isNew = true } = {}) {
  const isOther = address.of(view) !== address.of(address.current()) || (view.text ?? null) !== address.current().text;
  address.enter(view, isNew && isOther);
  show(view, true);
}

tabs.forEach((tab, n) => {
  const view = () => (NAMES[n] === "find" ? found : { tab: NAMES[n] });
  const choose = (to, isNew) => {
    address.enter(to, isNew);
    show(to);
  };
  tab.addEventListener("click", () => tab.getAttribute("aria-selected") === "true" || choose(view(), true));
  tab.addEventListener("keydown", (event) => {
    const to = { ArrowRight: n + 1, ArrowLeft: n - 1, Home: 0, End: NAMES.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const name = NAMES.at(to % NAMES.length);
    choose(name === "find" ? found : { tab: name }, false);
    byId(`tab-${name}`).focus();
  });
});
window.addEventListener("popstate", () => show(address.current()));
document.addEventListener("view", ({ detail }) => {
  enter({ tab: "find", ...detail });
  window.scrollTo(0, 0);
});

for (const area of document.querySelectorAll("textarea")) {
  const size = byId(area.getAttribute("aria-describedby"));
  const say = () => {
    size.textContent = area.value ? `${t("characters", [...area.value].length)}, ${bytes(utf8Length(area.value))}` : "";
  };
  area.addEventListener("input", say);
  // A browser that returns to the page restores the typed text.
  say();
}

byId("forget-key").addEventListener("click", () => {
  forgetKey();
  announce(t("keyForgotten"));
});

onSend(byId("find-form"), () => enter({ tab: "find", text: byId("find-text").value, bound: find.bound() }));
onSend(byId("id-form"), () => {
  const id = byId("find-id").value.trim();
  if (id) enter({ tab: "find", id });
});
file.start((text) => {
  write(byId("find-text"), text);
  enter({ tab: "find", text, bound: find.bound() });
});
keys.start(() => {
  if (byId("panel-find").hidden) byId("tab-find").click();
  byId("find-text").focus();
});
compare.start();
figures.start();
show(address.current());

// The forms need the description of the index. A failure here is shown by the first request.
index().then((info) => {
  byId("where").textContent = info.store;
  find.setBounds(info);
}, () => {});
