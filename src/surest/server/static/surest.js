// Keeps the page of a study up to date: the server sends parts of it as HTML, which take the place of those with the same id.
"use strict";

(() => {
  const LOST = "The connection to the service is lost. What you see may be out of date; trying again.";
  const host = document.querySelector("[data-live]");
  const connection = document.getElementById("connection");
  const parsed = new Map();

  // Times as "3 s ago". Without a script the page shows the time itself.
  const units = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
  const ago = (seconds) => {
    const found = units.find(([size]) => seconds >= size);
    return found ? `${Math.floor(seconds / found[0])} ${found[1]} ago` : "just now";
  };
  const tellTimes = (root) => {
    for (const time of root.querySelectorAll("time[datetime]")) {
      if (!time.title) time.title = time.textContent;
      const text = ago((Date.now() - Date.parse(time.dateTime)) / 1000);
      if (time.textContent !== text) time.textContent = text;
    }
  };
  tellTimes(document);
  setInterval(() => tellTimes(document), 5000);

  // What a page says after a form was sent is not said again when it is loaded anew.
  if (new URLSearchParams(location.search).has("done")) history.replaceState(null, "", location.pathname);

  // A field of a form that goes with one answer to a question is shown with that answer only.
  for (const choice of document.querySelectorAll("[data-chooses]")) {
    const show = () => {
      for (const field of document.querySelectorAll("[data-with]")) {
        field.hidden = !field.dataset.with.split(" ").includes(choice.value);
      }
    };
    choice.addEventListener("change", show);
    show();
  }

  for (const button of document.querySelectorAll("button[data-copies]")) {
    button.hidden = !navigator.clipboard;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(document.getElementById(button.dataset.copies).textContent);
      button.textContent = "Copied";
    });
  }

  // The list of studies is asked for again now and then, while somebody looks at it.
  const list = document.querySelector("[data-again]");
  const again = async () => {
    if (document.hidden || list.contains(document.activeElement)) return;
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById(list.id);
      if (!fresh) throw new Error("refused");
      list.replaceChildren(...fresh.childNodes);
      tellTimes(list);
      connection.textContent = "";
    } catch {
      connection.textContent = LOST;
    }
  };
  if (list) setInterval(again, 1000 * list.dataset.again);

  if (!host) return;
  const announce = document.getElementById("announce");

  // What is being read or used stays as it is: a part with selected text waits for its next turn.
  const isSelected = (part) => {
    const selection = getSelection();
    return selection && !selection.isCollapsed && part.contains(selection.anchorNode);
  };
  const swap = (part, html) => {
    const focused = part.contains(document.activeElement) ? document.activeElement.id : "";
    const opened = [...part.querySelectorAll("details[open][id]")].map((one) => one.id);
    const scrolled = [...part.querySelectorAll(".scroll[id]")].map((one) => [one.id, one.scrollLeft, one.scrollTop]);
    const fresh = document.createElement("template");
    fresh.innerHTML = html;
    part.replaceChildren(fresh.content);
    for (const id of opened) document.getElementById(id)?.setAttribute("open", "");
    for (const [id, left, top] of scrolled) document.getElementById(id)?.scrollTo(left, top);
    if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
    tellTimes(part);
  };
  const update = (parts) => {
    for (const [id, html] of Object.entries(parts)) {
      const part = document.getElementById(id);
      if (!part || parsed.get(id) === html || isSelected(part)) continue;
      parsed.set(id, html);
      swap(part, html);
    }
  };

  // A browser connects again by itself after most failures; where it gave up we do.
  let source;
  let wait = 1000;
  let alive = 0;
  const lost = () => {
    connection.textContent = LOST;
    host.dataset.connected = "no";
  };
  const connect = () => {
    source = new EventSource(host.dataset.live);
    alive = Date.now();
    source.addEventListener("open", () => {
      connection.textContent = "";
      host.dataset.connected = "yes";
      wait = 1000;
      alive = Date.now();
    });
    source.addEventListener("parts", (event) => {
      alive = Date.now();
      const told = JSON.parse(event.data);
      update(told.parts);
      if (announce.textContent !== told.says) {
        announce.textContent = told.says;
        document.title = told.title;
      }
      host.dataset.told = told.told;
    });
    source.addEventListener("beat", () => { alive = Date.now(); });
    source.addEventListener("gone", () => {
      source.close();
      alive = Infinity;
      connection.textContent = "This study was deleted.";
      host.dataset.connected = "no";
    });
    source.addEventListener("error", () => {
      lost();
      if (source.readyState !== EventSource.CLOSED) return;
      setTimeout(connect, wait);
      wait = Math.min(2 * wait, 30000);
    });
  };
  connect();
  setInterval(() => {
    if (Date.now() - alive < 45000) return;
    source.close(); // half open: nothing came for a long time, not even a sign of life
    lost();
    connect();
  }, 5000);
  addEventListener("pagehide", () => source.close());
  addEventListener("pageshow", (event) => { if (event.persisted) connect(); });
})();
