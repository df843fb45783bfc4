/** Light or dark: as the reader prefers, until the button says otherwise. */

import { signal } from "@preact/signals";

const KEY = "tickmind.theme";

export type Theme = "light" | "dark";

const preferred = (): Theme => (window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");

function kept(): Theme | null {
  try {
    const theme = window.localStorage.getItem(KEY);
    return theme === "light" || theme === "dark" ? theme : null;
  } catch {
    return null; // a page in a frame of another site may keep nothing, and then follows the reader's preference
  }
}

export const theme = signal<Theme>("light");

/** Takes over what was chosen here before. */
export function beginTheme(): void {
  const chosen = kept();
  if (chosen) document.documentElement.dataset.theme = chosen;
  theme.value = chosen ?? preferred();
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    if (!document.documentElement.dataset.theme) theme.value = preferred();
  });
}

export function switchTheme(): void {
  theme.value = theme.value === "dark" ? "light" : "dark";
  document.documentElement.dataset.theme = theme.value;
  try {
    window.localStorage.setItem(KEY, theme.value);
  } catch {
    return; // see above: the choice ends with the page
  }
}
