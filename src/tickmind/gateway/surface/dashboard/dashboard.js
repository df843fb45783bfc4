// Asks the gateway for its figures once a second, and says so when it gives none.

import { dress, say, show, tickAll } from "./elements.js";
import { Panels } from "./panels.js";
import { duration } from "./words.js";

const EVERY_MS = 1000;
const HIDDEN_MS = 15_000;
const LONGEST_MS = 15_000;
const TIMEOUT_MS = 8000;
const TICK_MS = 200;

const find = (id) => document.getElementById(id);

class Page {
  constructor() {
    this.panels = new Panels();
    this.failures = 0; // in a row
    this.goodAt = null; // when figures came last
    this.nextAt = 0; // when they are asked for again
    this.timer = null;
    this.problem = "";
    this.known = false; // whether figures were shown since the last login
    find("key-form").addEventListener("submit", (event) => this.takeKey(event));
    find("log-out").addEventListener("click", () => this.logOut());
    find("retry").addEventListener("click", () => this.ask());
    document.addEventListener("visibilitychange", () => document.hidden || this.ask());
    setInterval(() => document.hidden || this.tick(), TICK_MS);
    this.ask();
  }

  async ask() {
    clearTimeout(this.timer);
    this.asking?.abort();
    const asking = new AbortController();
    this.asking = asking;
    const timeout = setTimeout(() => asking.abort(), TIMEOUT_MS);
    try {
      const reply = await fetch("/api/llm/overview", {
        cache: "no-store",
        credentials: "same-origin",
        redirect: "error",
        signal: asking.signal,
      });
      if (reply.status === 401) return asking === this.asking && this.askForKey();
      if (!reply.ok) throw new Error(`it answers with status ${reply.status}`);
      const overview = await reply.json();
      if (asking === this.asking) this.showFigures(overview);
    } catch (error) {
      if (asking !== this.asking) return; // another one was asked instead
      this.failures += 1;
      this.problem = error instanceof TypeError || error.name === "AbortError" ? "no answer" : error.message;
      this.again(Math.min(LONGEST_MS, EVERY_MS * 2 ** Math.min(6, this.failures - 1)));
      this.showStatus();
    } finally {
      clearTimeout(timeout);
    }
  }

  again(ms) {
    const wait = document.hidden ? Math.max(ms, HIDDEN_MS) : ms;
    this.nextAt = performance.now() + wait;
    this.timer = setTimeout(() => this.ask(), wait);
  }

  showFigures(overview) {
    this.known = true;
    this.failures = 0;
    this.goodAt = performance.now();
    this.overview = overview;
    show(find("key-form"), false);
    show(find("log-out"), overview.keys);
    show(find("main"), true);
    this.panels.show(overview);
    const { shared } = overview;
    const others = shared.used ? `, limits shared by ${shared.gateways} ${shared.gateways === 1 ? "gateway" : "gateways"}` : "";
    say(find("about"), `up ${duration(overview.upMs)}, ${overview.sharing} sharing${others}`);
    const problem = overview.stopping ? "The gateway is shutting down: requests in flight end, new ones are refused." : shared.problem;
    say(find("problem"), problem);
    show(find("problem"), Boolean(problem));
    this.showStatus();
    this.again(EVERY_MS);
  }

  showStatus() {
    const lost = this.failures > 0;
    dress(find("status"), lost ? "lost" : this.overview?.shared.problem || this.overview?.stopping ? "degraded" : "live");
    show(find("retry"), lost);
    dress(document.body, lost ? "stale" : "");
    say(find("status-text"), lost ? "connection lost" : "live");
    say(find("status-more"), "");
    if (lost) this.tick();
  }

  tick() {
    tickAll();
    if (!this.failures) return;
    const now = performance.now();
    const since = this.goodAt === null ? "" : `for ${duration(Math.round((now - this.goodAt) / 1000) * 1000)}: `;
    const wait = Math.ceil(Math.max(0, this.nextAt - now) / 1000);
    say(find("status-more"), `${since}${this.problem}; ${wait ? `next try in ${wait} s` : "trying"}`);
  }

  askForKey() {
    if (this.known) return location.reload(); // which leaves nothing of the figures behind
    clearTimeout(this.timer);
    this.failures = 0;
    show(find("main"), false);
    show(find("log-out"), false);
    show(find("retry"), false);
    show(find("key-form"), true);
    dress(find("status"), "degraded");
    dress(document.body, "");
    say(find("status-text"), "a key is needed");
    say(find("status-more"), "");
    find("key").focus();
  }

  async takeKey(event) {
    event.preventDefault();
    const field = find("key");
    const key = field.value.trim();
    field.value = "";
    if (!/^[\x21-\x7e]+$/.test(key)) return say(find("key-problem"), "A key has letters, digits and signs, and no spaces.");
    const reply = await this.post("/dashboard/login", { key });
    if (reply?.ok) return this.ask();
    if (reply?.status === 401) return say(find("key-problem"), "The gateway does not know this key.");
    if (reply?.status === 429) {
      return say(find("key-problem"), `Too many wrong keys; wait ${reply.headers.get("retry-after")} s.`);
    }
    return say(find("key-problem"), reply ? `The gateway answers with status ${reply.status}.` : "The gateway does not answer.");
  }

  async logOut() {
    await this.post("/dashboard/logout", {});
    location.reload();
  }

  // The reply, or undefined if there is none.
  async post(path, body) {
    try {
      return await fetch(path, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
        credentials: "same-origin",
        redirect: "error",
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
    } catch {
      return undefined;
    }
  }
}

new Page();
