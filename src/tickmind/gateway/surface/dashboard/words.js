// Figures in words. Everything here gives a string; nothing here touches the page.

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

/** A count: 12, 1,234, 56.7K. */
export function count(value) {
  return Math.abs(value) < 10_000 ? whole.format(value) : short.format(value);
}

/** A rate per second, with as many digits as it deserves. */
export function rate(value) {
  if (value >= 100) return count(value);
  return String(Number(value.toFixed(value >= 10 ? 1 : 2)));
}

/** A duration: 0 ms, 340 ms, 1.2 s, 12 s, 3 min 5 s, 2 h 10 min. */
export function duration(ms) {
  if (ms < 1 && ms > 0) return `${ms.toFixed(1)} ms`;
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  if (seconds < 59.5) return `${Math.round(seconds)} s`;
  const minutes = Math.floor(Math.round(seconds) / 60);
  if (minutes < 60) return pair(minutes, "min", Math.round(seconds) % 60, "s");
  if (minutes < 60 * 24) return pair(Math.floor(minutes / 60), "h", minutes % 60, "min");
  return pair(Math.floor(minutes / 1440), "d", Math.floor((minutes % 1440) / 60), "h");
}

/** What is left of a wait; the tenths show that it moves. */
export function countdown(ms) {
  return ms < 60_000 ? `${(Math.max(0, ms) / 1000).toFixed(1)} s` : duration(ms);
}

/** Money: small sums keep their cents, and what is smaller its digits. */
export function money(usd) {
  if (usd >= 1000) return `$${whole.format(usd)}`;
  if (usd >= 1 || usd === 0) return `$${usd.toFixed(2)}`;
  return usd >= 0.001 ? `$${usd.toFixed(4)}` : `$${usd.toPrecision(2)}`;
}

/** A part of a whole, 0 to 1. */
export function percent(part) {
  return part && part < 0.01 ? "<1 %" : `${Math.round(100 * part)} %`;
}

/** A limit's window: per s, per min, per day, per 90 s. */
export function per(seconds) {
  return { 1: "per s", 60: "per min", 3600: "per h", 86400: "per day" }[seconds] ?? `per ${duration(1000 * seconds)}`;
}

/** How long ago it was. */
export function ago(ms) {
  return ms < 1500 ? "now" : duration(Math.max(0, Math.round(ms / 1000) * 1000));
}

/** A code such as queue_full as words. */
export function plain(code) {
  return code.replaceAll("_", " ").toLowerCase();
}

/** Which rows of how many are shown; nothing if it is all of them. */
export function shown(rows, all) {
  return rows < all ? `the busiest ${rows} of ${count(all)}` : all > 1 ? count(all) : "";
}

function pair(big, bigUnit, small, smallUnit) {
  return small ? `${big} ${bigUnit} ${small} ${smallUnit}` : `${big} ${bigUnit}`;
}
