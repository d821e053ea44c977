// Keeps a page up to date, and answers questions by keys. Without it, the pages show
// what was known when they were loaded, and all forms work.
"use strict";
(() => {
  // morph makes the children of one element those of another, and keeps what is the
  // same: focus, scroll places, open details and typed text stay.
  const sameKind = (a, b) => a.nodeType === b.nodeType && a.nodeName === b.nodeName && (a.id || "") === (b.id || "");
  const attributes = (from, to) => {
    for (const { name } of [...from.attributes]) {
      if (!to.hasAttribute(name) && !(name === "open" && from.nodeName === "DETAILS")) from.removeAttribute(name);
    }
    for (const { name, value } of to.attributes) {
      if (name === "open" && from.nodeName === "DETAILS") continue; // the reader's choice
      if (from.getAttribute(name) !== value) from.setAttribute(name, value);
    }
  };
  const morph = (from, to) => {
    let at = from.firstChild;
    for (const wanted of [...to.childNodes]) {
      let found = at;
      if (wanted.id) {
        while (found && !sameKind(found, wanted)) found = found.nextSibling;
      } else if (!found || found.id || !sameKind(found, wanted)) {
        found = null;
      }
      if (!found) {
        from.insertBefore(document.importNode(wanted, true), at);
        continue;
      }
      if (found !== at) {
        while (at !== found) {
          const next = at.nextSibling;
          at.remove();
          at = next;
        }
      }
      at = found.nextSibling;
      if (found.nodeType === Node.ELEMENT_NODE) {
        attributes(found, wanted);
        if (found.nodeName !== "INPUT") morph(found, wanted);
      } else if (found.nodeValue !== wanted.nodeValue) {
        found.nodeValue = wanted.nodeValue;
      }
    }
    while (at) {
      const next = at.nextSibling;
      at.remove();
      at = next;
    }
  };

  const note = document.getElementById("live");
  const say = text => { if (note && note.textContent !== text) note.textContent = text; };

  // refresh reads the page again, at most one request at a time.
  let reading = false, again = false;
  const refresh = async () => {
    if (reading) { again = true; return; }
    reading = true;
    try {
      const answer = await fetch(location.href, { credentials: "same-origin", headers: { Accept: "text/html" } });
      if (answer.status === 401) { location.reload(); return; }
      if (!answer.ok) { say("The page could not be updated."); return; }
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      for (const part of document.querySelectorAll("[data-live]")) {
        const other = fresh.querySelector(`[data-live="${part.dataset.live}"]`);
        if (other) morph(part, other);
      }
      const buttons = document.querySelector(".actions"), newButtons = fresh.querySelector(".actions");
      if (buttons && newButtons) morph(buttons, newButtons);
      offerCopies();
      say("This page is live.");
    } catch {
      say("The server cannot be reached. The page tries again.");
    } finally {
      reading = false;
      if (again) { again = false; setTimeout(refresh, 200); }
    }
  };
  const from = document.body.dataset.stream;
  if (from && window.EventSource) {
    const stream = new EventSource(from);
    stream.onopen = () => say("This page is live.");
    stream.onerror = () => say("The server cannot be reached. The page tries again.");
    stream.addEventListener("change", refresh);
    stream.addEventListener("end", () => { stream.close(); refresh(); });
  }

  // A link to a call opens it.
  const reveal = () => {
    const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    const details = target && target.closest("details");
    if (details) details.open = true;
  };
  addEventListener("hashchange", reveal);
  reveal();

  // Buttons that copy a file.
  const offerCopies = () => {
    if (!navigator.clipboard) return;
    for (const button of document.querySelectorAll("[data-copy]")) button.hidden = false;
  };
  offerCopies();
  document.addEventListener("click", async e => {
    const button = e.target.closest("[data-copy]");
    if (!button) return;
    try {
      const answer = await fetch(button.dataset.copy, { credentials: "same-origin" });
      if (!answer.ok) throw new Error(answer.statusText);
      await navigator.clipboard.writeText(await answer.text());
      button.textContent = "Copied";
    } catch {
      button.textContent = "Not copied: use the download";
    }
  });

  // Keys of the page with questions.
  const questions = () => [...document.querySelectorAll("[data-question]")];
  const current = () => document.activeElement && document.activeElement.closest("[data-question]");
  const go = step => {
    const all = questions();
    if (!all.length) return;
    const at = all.indexOf(current());
    const next = all[at < 0 ? (step > 0 ? 0 : all.length - 1) : Math.min(Math.max(at + step, 0), all.length - 1)];
    next.focus();
    next.scrollIntoView({ block: "nearest" });
  };
  document.addEventListener("keydown", e => {
    if (e.ctrlKey || e.metaKey || e.altKey || e.repeat || e.target.closest("input, select, textarea")) return;
    if (e.key === "j" || e.key === "k") go(e.key === "j" ? 1 : -1);
    else if (e.key === "a" || e.key === "d") {
      const button = current() && current().querySelector(`button[data-key="${e.key}"]`);
      if (!button) return;
      button.click();
    } else return;
    e.preventDefault();
  });
})();
