// What the pages gain with scripts: copying, uploads with progress, live updates that recover, logs that stay open.
"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const say = (words) => {
    const line = byId("say");
    if (line && words) line.textContent = words;
  };

  // --- Copy buttons: hidden in the page, for without a script they would do nothing.
  const wakeCopyButtons = (root) => {
    if (!navigator.clipboard) return;
    for (const button of root.querySelectorAll("[data-copy][hidden]")) button.hidden = false;
  };
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const words = button.innerHTML;
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
      button.textContent = "Copied";
      say("Copied.");
    } catch {
      button.textContent = "Not allowed";
      say("The browser did not allow copying.");
    }
    setTimeout(() => { button.innerHTML = words; }, 2500);
  });

  // --- Uploads: a drop fills the visible field; sending shows progress, and the answer replaces the page's main part.
  const wakeDropzone = (zone) => {
    const input = zone.querySelector("input[type=file]");
    if (!input || zone.dataset.awake) return;
    zone.dataset.awake = "yes";
    const hint = zone.querySelector("[data-drop-hint]");
    if (hint) hint.hidden = false;
    const mark = (isOver) => zone.classList.toggle("is-over", isOver);
    for (const name of ["dragenter", "dragover"]) {
      zone.addEventListener(name, (event) => { event.preventDefault(); mark(true); });
    }
    zone.addEventListener("dragleave", (event) => { if (!zone.contains(event.relatedTarget)) mark(false); });
    zone.addEventListener("drop", (event) => {
      event.preventDefault();
      mark(false);
      const files = event.dataTransfer.files;
      if (!files.length) return;
      if (files.length > 1 && !input.multiple) {
        say("Only one file fits here; nothing was taken.");
        return;
      }
      input.files = files;
      input.dispatchEvent(new Event("change", { bubbles: true }));
      say(`${files[0].name} chosen.`);
    });
  };

  const showProblem = (form, title, detail) => {
    const place = form.querySelector("[data-upload-problem]");
    if (!place) return;
    place.replaceChildren();
    const box = document.createElement("div");
    box.className = "error-summary";
    box.tabIndex = -1;
    box.setAttribute("role", "alert");
    const heading = document.createElement("h2");
    heading.textContent = title;
    const text = document.createElement("p");
    text.textContent = detail;
    box.append(heading, text);
    place.append(box);
    box.focus();
  };

  const showAnswer = (form, request) => {
    if (/json/.test(request.getResponseHeader("Content-Type") || "")) {
      const problem = JSON.parse(request.responseText);
      showProblem(form, problem.title || "The upload failed", [problem.detail, problem.remedy].filter(Boolean).join(" "));
      return;
    }
    const answer = new DOMParser().parseFromString(request.responseText, "text/html");
    const main = answer.getElementById("main");
    if (!main) {
      showProblem(form, "The upload failed", `The server answered with status ${request.status}. Nothing was stored.`);
      return;
    }
    const problem = answer.querySelector(".problem");
    if (request.status >= 400 && problem) {
      // The form stays as it is, so that nothing typed is lost.
      const detail = [...problem.querySelectorAll("p:not(.small)")].map((part) => part.textContent.trim()).join(" ");
      showProblem(form, answer.querySelector("h1").textContent.trim(), detail);
      return;
    }
    document.title = answer.title;
    byId("main").replaceWith(document.adoptNode(main));
    if (request.responseURL && request.responseURL !== location.href) history.pushState({ swapped: true }, "", request.responseURL);
    wake(byId("main"));
    if (window.htmx) window.htmx.process(byId("main"));
    if (!byId("error-summary")) { scrollTo(0, 0); byId("main").focus(); }
  };
  addEventListener("popstate", () => location.reload());

  const sizeWords = (bytes) => {
    const units = ["bytes", "kB", "MB", "GB"];
    let unit = 0;
    while (bytes >= 1024 && unit < units.length - 1) { bytes /= 1024; unit += 1; }
    return `${unit && bytes < 100 ? bytes.toFixed(1) : Math.round(bytes)} ${units[unit]}`;
  };

  const send = (form, submitter) => {
    const state = form.querySelector("[data-upload-state]");
    const bar = state.querySelector("progress");
    const words = state.querySelector("[data-upload-words]");
    const cancel = state.querySelector("[data-upload-cancel]");
    const buttons = [...form.querySelectorAll("button:not([type=button])")];
    const request = new XMLHttpRequest();
    let quarter = 0;
    const end = () => {
      delete form.dataset.sending;
      state.hidden = true;
      for (const button of buttons) button.removeAttribute("aria-disabled");
    };
    form.dataset.sending = "yes";
    form.querySelector("[data-upload-problem]")?.replaceChildren();
    state.hidden = false;
    bar.value = 0;
    words.textContent = "Starting.";
    for (const button of buttons) button.setAttribute("aria-disabled", "true");
    request.upload.addEventListener("progress", (event) => {
      if (!event.lengthComputable) return;
      const share = event.loaded / event.total;
      bar.value = share * 100;
      words.textContent = share < 1 ? `${sizeWords(event.loaded)} of ${sizeWords(event.total)}` : "Sent. The server is storing it.";
      const reached = Math.floor(share * 4);
      if (reached > quarter) {
        quarter = reached;
        say(reached === 4 ? "Upload sent." : `Upload ${reached * 25} percent.`);
      }
    });
    request.addEventListener("load", () => { end(); showAnswer(form, request); });
    request.addEventListener("error", () => {
      end();
      showProblem(form, "The connection broke", "The file did not arrive. Nothing was stored; try again.");
    });
    request.addEventListener("abort", () => { end(); say("Upload cancelled. Nothing was stored."); buttons[0]?.focus(); });
    cancel.onclick = () => request.abort();
    request.open("POST", form.action || location.href);
    request.setRequestHeader("Accept", "text/html, application/problem+json");
    request.send(submitter && submitter.name ? new FormData(form, submitter) : new FormData(form));
    cancel.focus();
  };
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.dataset.sending) { event.preventDefault(); return; }
    const hasFile = [...form.querySelectorAll("input[type=file]")].some((input) => input.files.length);
    if (!form.matches("[data-upload]") || !hasFile || !form.querySelector("[data-upload-state]")) return;
    event.preventDefault();
    send(form, event.submitter);
  });

  // --- Live updates: three failures stop them with a link; a hidden tab asks every 30 s at most.
  const HIDDEN_PAUSE_MS = 30000;
  let failures = 0;
  let lastAsked = 0;
  const isPoll = (event) => event.detail && event.detail.elt && event.detail.elt.id === "poll";
  document.addEventListener("htmx:beforeRequest", (event) => {
    if (!isPoll(event)) return;
    if (document.hidden && Date.now() - lastAsked < HIDDEN_PAUSE_MS) { event.preventDefault(); return; }
    lastAsked = Date.now();
  });
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden && byId("poll") && window.htmx) window.htmx.trigger("#poll", "refresh");
  });
  document.addEventListener("htmx:afterRequest", (event) => {
    if (!isPoll(event)) return;
    if (event.detail.successful) { failures = 0; return; }
    failures += 1;
    const poll = byId("poll");
    if (failures < 3 || !poll) return;
    const line = document.createElement("p");
    line.className = "live-line";
    line.id = "poll";
    line.append("Live updates stopped. ");
    const link = document.createElement("a");
    link.href = location.href;
    link.textContent = "Reload";
    line.append(link, ".");
    poll.replaceWith(line);
    say("Live updates stopped.");
  });

  // --- Swaps: what the reader opened stays open and scrolled, and the focus is never lost.
  const chosen = new Map();
  let focusPart = null;
  document.addEventListener("click", (event) => {
    const summary = event.target.closest("summary");
    const details = summary && summary.parentElement;
    if (details && details.id) chosen.set(details.id, !details.open);
  });
  const keep = (target, fragment) => {
    if (!target || !fragment || !fragment.querySelectorAll) return;
    for (const fresh of fragment.querySelectorAll("details[id]")) {
      const old = byId(fresh.id);
      const isOpen = chosen.has(fresh.id) ? chosen.get(fresh.id) : fresh.open || Boolean(old && old.open);
      fresh.open = isOpen;
    }
    const active = document.activeElement;
    if (active && active !== document.body && target.contains(active)) {
      const part = active.closest("[id].stage, section[id], [id].acts") || target;
      focusPart = part.id || null;
    }
    for (const log of target.querySelectorAll("pre[id]")) scrolled.set(log.id, log.scrollTop);
  };
  const scrolled = new Map();
  document.addEventListener("htmx:oobBeforeSwap", (event) => keep(event.detail.target, event.detail.fragment));
  document.addEventListener("htmx:oobAfterSwap", () => {
    for (const [id, top] of scrolled) { const log = byId(id); if (log) log.scrollTop = top; }
    scrolled.clear();
  });
  document.addEventListener("htmx:afterSettle", () => {
    const poll = byId("poll");
    if (poll && poll.dataset.say) { say(poll.dataset.say); delete poll.dataset.say; }
    wake(document);
    if (!focusPart || (document.activeElement && document.activeElement !== document.body)) { focusPart = null; return; }
    const part = byId(focusPart);
    focusPart = null;
    if (!part) return;
    part.tabIndex = -1;
    part.focus({ preventScroll: true });
  });

  // --- Waking a page, or a part that was swapped in.
  const wake = (root) => {
    wakeCopyButtons(root);
    for (const zone of root.querySelectorAll("[data-dropzone]")) wakeDropzone(zone);
  };
  wake(document);
  const summary = byId("error-summary");
  if (summary) summary.focus();
})();
