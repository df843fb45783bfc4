// Names the cells of tables with many columns by their headings, so that docs.css can show rows as cards on a narrow page.

const MANY = 5;

document.addEventListener("DOMContentLoaded", () => {
  for (const table of document.querySelectorAll("article table")) {
    const headings = [...table.querySelectorAll("thead th")].map((one) => one.textContent);
    if (headings.length < MANY) continue;
    table.dataset.many = "";
    for (const row of table.querySelectorAll("tbody tr")) {
      [...row.cells].forEach((cell, at) => { cell.dataset.heading = headings[at] ?? ""; });
    }
  }
});
