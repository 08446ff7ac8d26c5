/* Tables sort by a column: on a press of its header, numbers by their exact values. */
(() => {
  "use strict";
  const value = (cell) => {
    const exact = parseFloat(cell.title);
    if (cell.classList.contains("n")) {
      return Number.isNaN(exact) ? parseFloat(cell.textContent.replace(/,/g, "")) : exact;
    }
    return cell.textContent.trim();
  };
  const compare = (a, b) => {
    // What is missing comes last, whichever way.
    if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) - Number.isNaN(b);
    return typeof a === "number" ? b - a : a.localeCompare(b);
  };
  for (const table of document.querySelectorAll("table.data:not(.pairs)")) {
    const body = table.tBodies[0];
    [...table.querySelectorAll("thead th")].forEach((head, index) => {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const numeric = head.classList.contains("n");
        const first = numeric ? "descending" : "ascending";
        const other = numeric ? "ascending" : "descending";
        const order = head.getAttribute("aria-sort") === first ? other : first;
        for (const h of table.querySelectorAll("th[aria-sort]")) h.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", order);
        const sign = order === first ? 1 : -1;
        const rows = [...body.rows].map((row) => [value(row.cells[index]), row]);
        const missing = (v) => Number.isNaN(v) || v === "–";
        rows.sort(([a], [b]) =>
          missing(a) || missing(b) ? missing(a) - missing(b) : sign * compare(a, b));
        body.append(...rows.map(([, row]) => row));
      });
    });
  }
})();
