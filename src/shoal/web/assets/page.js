// What the page does by itself: shows progress and problems where they belong, copies, and checks sizes.
"use strict";
(function () {
  document.documentElement.lang = "en"; // Shiny writes the tag, without it
  const byId = (id) => document.getElementById(id);
  const all = (selector) => document.querySelectorAll(selector);

  // --- Told by the server ---------------------------------------------------------------------------------

  let starter = null; // what had the focus when the work began gets it back
  function showProgress(told) {
    const bar = byId("progress"), go = byId("go");
    if (told.busy && bar.hidden) starter = document.activeElement;
    const lost = !told.busy && bar.contains(document.activeElement);
    bar.hidden = !told.busy;
    // Not disabled: a disabled button would lose the focus.
    if (go) go.setAttribute("aria-disabled", String(told.busy));
    if (lost && starter && starter.isConnected) starter.focus();
    if (!told.busy) return;
    const stage = byId("stage");
    if (stage.textContent !== told.stage) stage.textContent = told.stage; // announced once a stage
    byId("time-left").textContent = told.left;
    if (told.share > 0) byId("share").value = told.share;
    else byId("share").removeAttribute("value");
  }

  let drawing = null; // a field with a problem may not be drawn yet
  function showProblems(told, tries = 20) {
    clearTimeout(drawing);
    if (tries && Object.keys(told.problems).some((name) => !byId("problem-" + name))) {
      drawing = setTimeout(() => showProblems(told, tries - 1), 250);
      return;
    }
    all(".problem").forEach((place) => { place.textContent = ""; });
    all("[aria-invalid]").forEach((entry) => entry.removeAttribute("aria-invalid"));
    let first = null;
    Object.entries(told.problems).forEach(([name, words]) => {
      const place = byId("problem-" + name) || byId("problem-data");
      place.textContent = words;
      const entry = byId(name);
      if (entry) entry.setAttribute("aria-invalid", "true");
      const hiding = place.closest(".field[hidden]");
      if (hiding) hiding.hidden = false;
      const details = place.closest("details");
      if (details) details.open = true;
      first = first || entry || place;
    });
    if (first) first.scrollIntoView({ block: "center", behavior: "smooth" });
  }

  function goTo(told) {
    const title = document.querySelector("#step-" + told.name + " h2");
    title.focus({ preventScroll: true });
    title.scrollIntoView({ block: "start", behavior: "smooth" });
  }

  function showPart(told, tries = 20) { // it may not be drawn yet
    const part = document.querySelector(told.selector);
    if (!part && tries) setTimeout(() => showPart(told, tries - 1), 100);
    if (!part) return;
    const details = part.closest("details");
    if (details) details.open = true;
    part.focus({ preventScroll: true });
    part.scrollIntoView({ block: "start", behavior: "smooth" });
  }

  let silence = null;
  function say(told) {
    byId("said").textContent = told.words;
    clearTimeout(silence);
    silence = setTimeout(() => { byId("said").textContent = ""; }, 6000);
  }

  function showStates(told) {
    all("nav a[data-step]").forEach((link) => {
      const state = told.states[link.dataset.step] || "";
      link.dataset.state = state;
      link.querySelector(".state").textContent = state && " (" + state + ")";
    });
  }

  function showFiles(told) {
    const list = byId("folder_file"), shown = [...list.options].slice(1).map((option) => option.value);
    if (shown.join("/") === told.names.join("/")) return;
    const chosen = list.value;
    list.length = 1;
    told.names.forEach((name) => list.add(new Option(name, name, false, name === chosen)));
  }

  $(document).one("shiny:connected", () => {
    Shiny.addCustomMessageHandler("progress", showProgress);
    Shiny.addCustomMessageHandler("problems", (told) => showProblems(told));
    Shiny.addCustomMessageHandler("step", goTo);
    Shiny.addCustomMessageHandler("part", (told) => showPart(told));
    Shiny.addCustomMessageHandler("said", say);
    Shiny.addCustomMessageHandler("steps", showStates);
    Shiny.addCustomMessageHandler("files", showFiles);
    Shiny.addCustomMessageHandler("session", keepKey);
    Shiny.addCustomMessageHandler("ended", (_) => end());
    Shiny.addCustomMessageHandler("elsewhere", (_) => { left = true; cover("elsewhere"); });
  });

  // --- The session ----------------------------------------------------------------------------------------

  // The server keeps the work of this tab under a key; the last key of the browser serves a new tab.
  const KEY = "shoal-key-" + location.port;
  if (location.hash === "#new") {
    sessionStorage.removeItem(KEY);
    localStorage.removeItem(KEY);
    history.replaceState(null, "", location.pathname);
  }
  byId("key").value = sessionStorage.getItem(KEY) || "";
  byId("last_key").value = localStorage.getItem(KEY) || "";

  function keepKey(told) {
    sessionStorage.setItem(KEY, told.key);
    localStorage.setItem(KEY, told.key);
  }

  let left = false; // for another page, or for good
  function cover(why) {
    showProgress({ busy: false });
    all("#gone > div").forEach((part) => { part.hidden = part.id !== "gone-" + why; });
    byId("gone").hidden = false;
  }

  function end() {
    left = true;
    if (localStorage.getItem(KEY) === sessionStorage.getItem(KEY)) localStorage.removeItem(KEY);
    sessionStorage.removeItem(KEY);
    cover("ended");
  }

  // Only the server that was started with the token of this page answers with a page.
  function reach(failures) {
    if (left) return;
    fetch("/", { cache: "no-store" }).then((answer) => {
      if (answer.ok) location.reload();
      else throw new Error(answer.status);
    }).catch(() => {
      if (failures >= 4) cover("stopped");
      setTimeout(() => reach(failures + 1), failures < 4 ? 500 : 3000);
    });
  }

  $(document).on("shiny:disconnected", () => {
    if (left) return;
    cover("lost");
    reach(0);
  });

  window.addEventListener("pagehide", () => { left = true; });
  window.addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
  all("button.reload").forEach((button) => button.addEventListener("click", () => location.reload()));

  // --- By itself ------------------------------------------------------------------------------------------

  // Files that are too large are not even begun; the server refuses them as well.
  function refuseLarge(event, entry, files) {
    const most = Number(document.querySelector("main").dataset.mostBytes);
    const large = [...files].find((file) => file.size > most);
    if (!large) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    entry.value = "";
    showProblems({
      problems: { [entry.id]: large.name + " is larger than " + most / 1e6 + " MB, which is the limit." },
    });
  }
  document.addEventListener("change", (event) => {
    if (event.target.type === "file") refuseLarge(event, event.target, event.target.files);
  }, true);
  document.addEventListener("drop", (event) => {
    const zone = event.target.closest(".drop");
    if (zone) refuseLarge(event, zone.querySelector("input[type=file]"), event.dataTransfer.files);
  }, true);

  document.addEventListener("click", (event) => {
    const copies = event.target.dataset.copies;
    if (!copies) return;
    navigator.clipboard.writeText(byId(copies).textContent).then(() => {
      event.target.textContent = "Copied";
      setTimeout(() => { event.target.textContent = "Copy"; }, 2000);
    });
  });

  // A button that waits for the work to end does nothing.
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[aria-disabled=true]");
    if (!button) return;
    event.preventDefault();
    event.stopImmediatePropagation();
  }, true);

  // The hierarchy of a column is edited below; values and groups can be dragged onto groups.
  document.addEventListener("click", (event) => {
    const place = event.target.dataset && event.target.dataset.edits;
    if (place) Shiny.setInputValue("edit_open", Number(place), { priority: "event" });
  });
  document.addEventListener("click", (event) => {
    const run = event.target.dataset && event.target.dataset.tries;
    if (run) Shiny.setInputValue("try_run", Number(run), { priority: "event" });
  });
  const labelled = (event) => event.target.closest && event.target.closest(".tree [data-label]");
  let dragged = null;
  document.addEventListener("dragstart", (event) => {
    dragged = labelled(event);
    if (dragged) event.dataTransfer.setData("text/plain", dragged.dataset.label);
  });
  document.addEventListener("dragover", (event) => {
    const target = event.target.closest && event.target.closest(".tree [data-group]");
    all(".tree .target").forEach((each) => each.classList.remove("target"));
    if (!dragged || !target || dragged.contains(target)) return;
    event.preventDefault();
    target.classList.add("target");
  });
  document.addEventListener("drop", (event) => {
    const target = event.target.closest && event.target.closest(".tree [data-group]");
    if (!dragged || !target || dragged.contains(target)) return;
    event.preventDefault();
    Shiny.setInputValue("edit_drop", [dragged.dataset.label, target.dataset.label], { priority: "event" });
  });
  document.addEventListener("dragend", () => { dragged = null; });

  // The list of steps shows which one is on the screen.
  const sections = [...all("main > section")];
  let current = null;
  function follow() {
    const line = innerHeight / 3;
    const atEnd = scrollY > 0 && scrollY + innerHeight >= document.documentElement.scrollHeight - 2;
    const passed = sections.filter((section) => section.getBoundingClientRect().top <= line);
    const section = atEnd ? sections.at(-1) : passed.at(-1) || sections[0];
    if (section === current) return;
    current = section;
    all("nav a[data-step]").forEach((link) => {
      if ("step-" + link.dataset.step !== section.id) { link.removeAttribute("aria-current"); return; }
      link.setAttribute("aria-current", "step");
      const list = link.closest("ol");
      list.scrollTo({ left: link.offsetLeft - (list.clientWidth - link.offsetWidth) / 2 });
    });
  }
  document.addEventListener("scroll", follow, { passive: true });
  window.addEventListener("resize", () => { current = null; follow(); }); // the list has another width now
  follow();

  // A column looks like its role, and has the fields that suit its role, kind and hierarchy.
  function suit(card) {
    const of = (name) => card.querySelector("select[id^=" + name + "_]").value;
    const now = { roles: of("role"), kinds: of("kind"), hierarchies: of("hierarchy") };
    card.className = "column " + now.roles;
    card.querySelectorAll(".fields > .field").forEach((field) => {
      const suits = ([name, value]) => !(name in field.dataset) || field.dataset[name].split(" ").includes(value);
      field.hidden = !Object.entries(now).every(suits);
    });
  }
  document.addEventListener("change", (event) => {
    const card = event.target.closest && event.target.closest("li.column");
    if (card) suit(card);
  });
  new MutationObserver(() => all("li.column").forEach(suit)).observe(byId("columns_shown"), { childList: true });
})();
