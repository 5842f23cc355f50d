// Sortable tables and the ledger's filter. A heading becomes a button, so that it works by mouse, touch and keyboard.
(() => {
  "use strict";
  const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

  function key(row, column) {
    const cell = row.cells[column];
    if (!cell) return null;
    const text = (cell.dataset.value ?? cell.textContent).trim();
    if (text === "" || text === "–") return null;
    const number = Number(text);
    return Number.isNaN(number) ? text : number;
  }

  function compare(a, b) {
    if (typeof a === "number" && typeof b === "number") return a - b;
    return collator.compare(String(a), String(b));
  }

  // Missing values stay at the end in both directions; equal ones keep their order.
  function sort(table, column, descending) {
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row) => [key(row, column), row]);
    rows.sort(([a], [b]) => {
      if (a === null || b === null) return (a === null) - (b === null);
      return descending ? compare(b, a) : compare(a, b);
    });
    body.append(...rows.map(([, row]) => row));
  }

  function makeSortable(table) {
    const headings = [...table.tHead.rows[0].cells];
    headings.forEach((heading, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      button.append(...heading.childNodes);
      heading.append(button);
      button.addEventListener("click", () => {
        const descending = heading.getAttribute("aria-sort") === "ascending";
        headings.forEach((other) => other.removeAttribute("aria-sort"));
        heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
        sort(table, column, descending);
      });
    });
  }

  function makeFilter(counts, table, status) {
    const buttons = [];
    const show = (outcome) => {
      let shown = 0;
      for (const row of table.tBodies[0].rows) {
        row.hidden = outcome !== null && row.dataset.outcome !== outcome;
        shown += !row.hidden;
      }
      for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.outcome === outcome));
      status.hidden = outcome === null;
      status.textContent = outcome === null ? "" : `Showing ${shown} of ${table.tBodies[0].rows.length} claims: ${outcome}.`;
    };
    for (const item of counts.querySelectorAll("li:not(.none)")) {
      const button = document.createElement("button");
      button.type = "button";
      button.dataset.outcome = item.dataset.outcome;
      button.setAttribute("aria-pressed", "false");
      button.title = `Show only: ${item.dataset.outcome}`;
      button.append(...item.childNodes);
      item.append(button);
      buttons.push(button);
      button.addEventListener("click", () => {
        show(button.getAttribute("aria-pressed") === "true" ? null : button.dataset.outcome);
      });
    }
  }

  document.querySelectorAll("table.sortable").forEach(makeSortable);
  const ledger = document.querySelector("table.tallied");
  if (ledger) makeFilter(document.querySelector(".counts"), ledger, document.querySelector(".filtered"));
})();
