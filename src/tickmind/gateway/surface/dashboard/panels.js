// What the page shows of an overview, one class for each part of it.

import { Chart, Spark } from "./charts.js";
import { Bar, List, countTo, dress, make, row, say, show, stopCount } from "./elements.js";
import { ago, count, countdown, duration, money, per, percent, plain, rate, shown } from "./words.js";

const find = (id) => document.getElementById(id);
const STATES = {
  ready: "ready",
  limited: "limited",
  open: "circuit open",
  probing: "probing",
  paused: "account refused",
};

/** All parts. `show` takes the overview as it came. */
export class Panels {
  constructor() {
    this.parts = [new Tiles(), new Charts(), new Lanes(), new Sessions(), new Queues(), new Costs(), new Events()];
  }

  show(overview) {
    for (const part of this.parts) part.show(overview);
  }
}

/** How many wait or are expected, and the wait of one more: "12 waiting, about 94 s". */
function waiting({ queued, expected, waitMs }, where) {
  const all = queued + expected;
  if (!all) return "none";
  return waitMs ? `${count(all)} waiting, about ${duration(waitMs)}` : `${count(all)} waiting ${where}`;
}

function inQueue({ depth, capacity, expected, waitMs }) {
  const parts = [`${count(depth)} of ${count(capacity)} wait`];
  if (expected) parts.push(`${count(expected)} will come back`);
  if (waitMs) parts.push(`about ${duration(waitMs)}`);
  return parts.join(", ");
}

class Tiles {
  constructor() {
    const figure = (name, spark) => {
      const value = make("dd", "value");
      const hint = make("dd", "hint");
      const line = spark ? new Spark() : null;
      find("tiles").append(make("div", "tile panel", make("dt", "", name), value, hint, ...(line ? [line.root] : [])));
      return { value, hint, line };
    };
    this.served = figure("Served per second", true);
    this.queued = figure("Waiting", true);
    this.flight = figure("In flight", true);
    this.wait = figure("Median wait", true);
    this.fallbacks = figure("Fallbacks", true);
    this.cost = figure("Cost", false);
    this.refusals = new List(find("refusals"), () => ({ root: make("li") }), ({ root }, [code, number]) => {
      say(root, `${plain(code)} ${count(number)}`);
    });
  }

  show({ lately, history, total, refusals, ...now }) {
    const minute = lately.spanMs >= 50_000 ? "in the last minute" : `in the last ${duration(lately.spanMs)}`;
    fill(this.served, rate(lately.servedPerS), `${count(now.answered)} of ${count(now.requests)} in all`, history.servedPerS);
    fill(this.queued, count(now.queued + now.expected), waiting(now, `in ${count(now.counts.chains)} ${now.counts.chains === 1 ? "queue" : "queues"}`), history.queued);
    fill(this.flight, count(now.inFlight), `${count(now.attempts)} attempts in all`, history.inFlight);
    fill(this.wait, duration(lately.waits.p50Ms), `p99 ${duration(lately.waits.p99Ms)}, ${minute}`, history.waitP50Ms);
    fill(this.fallbacks, count(lately.fallbacks), `${minute}; ${count(now.fallbacks)} in all, ${count(now.retries)} retries`, history.fallbacks);
    const unpriced = total.unpriced ? `, ${count(total.unpriced)} without a price` : "";
    fill(this.cost, money(total.usd), `${money(lately.usd)} ${minute}${unpriced}`);
    this.refusals.fill(Object.entries(refusals), ([code]) => code);
    show(find("refusals"), Object.keys(refusals).length > 0);
  }
}

function fill({ value, hint, line }, words, more, values = null) {
  say(value, words);
  say(hint, more);
  line?.show(values);
}

class Charts {
  constructor() {
    const times = (column) => [
      { name: "median", column: `${column}P50Ms`, kind: "one" },
      { name: "p99", column: `${column}P99Ms`, kind: "two" },
    ];
    this.charts = [
      new Chart(find("chart-served"), {
        title: "Requests per second",
        series: [
          { name: "served", column: "servedPerS", kind: "one" },
          { name: "refused", column: "refusedPerS", kind: "bad" },
        ],
        format: rate,
      }),
      new Chart(find("chart-wait"), { title: "Wait in the queue", series: times("wait"), format: duration }),
      new Chart(find("chart-latency"), { title: "Latency, arrival to end", series: times("latency"), format: duration }),
    ];
  }

  show({ history }) {
    for (const chart of this.charts) chart.show(history);
  }
}

class Lanes {
  constructor() {
    const table = find("lanes");
    this.list = new List(table.tBodies[0], () => begin(table), (part, lane) => this.update(part, lane));
    function begin() {
      const part = row(table, ["lane", "state", "flight", "waiting", "limits", "served", "limited", "failed"]);
      part.name = make("span", "name");
      part.model = make("span", "muted");
      part.key = make("code", "muted");
      part.lane.append(part.name, part.model, part.key);
      part.pill = make("span", "pill");
      part.clock = make("b", "countdown");
      part.reason = make("span", "reason muted");
      part.state.append(part.pill, part.clock, part.reason);
      part.bar = new Bar();
      part.flight.append(part.bar.root);
      const none = make("span", "muted", "none known");
      const uses = make("div", "uses");
      part.limits.append(none, uses);
      part.none = none;
      part.uses = new List(uses, () => new Bar(), (bar, limit) => {
        const part = limit.used / limit.limit;
        const unit = limit.unit === "tokens" ? " tokens" : "";
        const words = `${count(Math.round(limit.used))} / ${count(limit.limit)}${unit} ${per(limit.perS)}`;
        bar.set(part, words, { kind: part >= 0.9 ? "high" : "" });
      });
      return part;
    }
  }

  show({ lanes, counts }) {
    this.list.fill(lanes, (lane) => JSON.stringify([lane.provider, lane.key, lane.model]));
    say(find("lanes-note"), shown(lanes.length, counts.lanes));
  }

  update(part, lane) {
    say(part.name, lane.provider);
    say(part.model, lane.model || "every model");
    say(part.key, lane.key);
    say(part.pill, STATES[lane.state] ?? lane.state);
    dress(part.pill, `pill ${lane.state}`);
    if (lane.limitedForMs) countTo(part.clock, performance.now() + lane.limitedForMs, countdown);
    else stopCount(part.clock);
    say(part.reason, lane.reason || (lane.state === "probing" ? "one request at a time finds out whether it is back" : ""));
    if (lane.concurrency === null) part.bar.set(0, count(lane.inFlight), { kind: "boundless" });
    else {
      const most = Math.floor(lane.concurrency);
      part.bar.set(lane.inFlight / Math.max(1, most), `${count(lane.inFlight)} / ${count(most)}`, { kind: lane.inFlight >= most ? "high" : "" });
    }
    say(part.waiting, count(lane.waiting));
    part.uses.fill(lane.limits, (limit) => `${limit.unit} ${limit.perS}`);
    show(part.none, lane.limits.length === 0);
    say(part.none, lane.guessedPerMinute ? `about ${count(lane.guessedPerMinute)} per min, guessed` : "none known");
    say(part.served, count(lane.served));
    say(part.limited, count(lane.limited));
    say(part.failed, count(lane.failed));
  }
}

class Sessions {
  constructor() {
    const table = find("sessions");
    const begin = () => {
      const part = row(table, ["session", "weight", "share", "served", "queued", "deferred", "wait", "cost"]);
      part.bar = new Bar();
      part.share.append(part.bar.root);
      return part;
    };
    this.list = new List(table.tBodies[0], begin, (part, one) => {
      say(part.session, one.session);
      say(part.weight, String(one.weight));
      const words = one.dueShare ? `${percent(one.share)}, due ${percent(one.dueShare)}` : percent(one.share);
      part.bar.set(one.share, words, {
        mark: one.dueShare || null,
        title: `${count(one.servedLately)} served in the last minute; the mark is what its weight could claim`,
      });
      say(part.served, count(one.served));
      say(part.queued, count(one.queued));
      say(part.deferred, count(one.deferred));
      say(part.wait, one.waits?.count ? duration(one.waits.p50Ms) : "–");
      say(part.cost, money(one.usd));
    });
    const chip = () => {
      const [name, clock] = [make("span"), make("b", "countdown")];
      return { root: make("li", "", name, clock), name, clock };
    };
    this.deferred = new List(find("deferred"), chip, ({ name, clock }, one) => {
      say(name, `${one.agent} of ${one.session} deferred `);
      countTo(clock, performance.now() + one.resumesInMs, countdown);
    });
    this.ended = new List(find("ended"), () => ({ root: make("li") }), ({ root }, one) => {
      const cost = one.usd > 0 || one.unpriced === 0 ? money(one.usd) : "no price";
      say(root, one.session ? `${one.session} ended: ${cost}, ${count(one.served)} served` : `${count(one.more)} more ended`);
    });
  }

  show({ sessions, deferred, ended, counts, sharing }) {
    this.list.fill(sessions, (one) => one.session);
    this.deferred.fill(deferred.slice(0, 12), (one) => JSON.stringify([one.session, one.agent]));
    show(find("deferred"), deferred.length > 0);
    const more = counts.ended - Math.min(ended.length, 12);
    this.ended.fill([...ended.slice(0, 12), ...(more ? [{ session: "", more }] : [])], (one) => one.session);
    show(find("ended"), counts.ended > 0);
    const note = shown(sessions.length, counts.sessions);
    say(find("sessions-note"), [note, sharing === "strict" ? "strict cooldowns" : "shared by weight"].filter(Boolean).join(", "));
  }
}

class Queues {
  constructor() {
    const begin = () => {
      const part = { name: make("span", "name"), way: make("span", "muted"), bar: new Bar() };
      const who = make("ul", "chips");
      part.who = new List(who, () => ({ root: make("li") }), ({ root }, one) => {
        say(root, `${one.session} ${count(one.jobs)}`);
      });
      part.root = make("li", "queue", make("div", "", part.name, part.way), part.bar.root, who);
      return part;
    };
    this.list = new List(find("chains"), begin, (part, chain) => {
      say(part.name, chain.model);
      say(part.way, chain.chain.map((step) => step.provider).join(" → "));
      const full = chain.depth / chain.capacity;
      part.bar.set(full, inQueue(chain), { kind: full >= 0.9 ? "full" : full >= 0.6 ? "high" : "" });
      const more = chain.waitingSessions - chain.waiting.length;
      const names = more > 0 ? [...chain.waiting, { session: "others:", jobs: more }] : chain.waiting;
      part.who.fill(names, (one) => one.session);
    });
  }

  show({ chains, counts }) {
    this.list.fill(chains, (chain) => JSON.stringify([chain.model, chain.chain]));
    say(find("chains-note"), shown(chains.length, counts.chains));
  }
}

class Costs {
  constructor() {
    const table = find("costs");
    const begin = () => {
      const part = row(table, ["target", "served", "input", "output", "cost", "times"]);
      part.name = make("span", "name");
      part.model = make("span", "muted");
      part.target.append(part.name, part.model);
      part.bar = new Bar();
      part.cost.append(part.bar.root);
      return part;
    };
    this.list = new List(table.tBodies[0], begin, (part, one) => {
      say(part.name, one.provider);
      say(part.model, one.model);
      say(part.served, count(one.served));
      say(part.input, count(one.promptTokens));
      say(part.output, count(one.completionTokens));
      const known = one.usd > 0 || one.unpriced === 0;
      part.bar.set(this.total ? one.usd / this.total : 0, known ? money(one.usd) : "no price", { kind: known ? "" : "boundless" });
      say(part.times, one.latencies.count ? `${duration(one.latencies.p50Ms)} / ${duration(one.latencies.p99Ms)}` : "–");
    });
  }

  show({ targets, total, counts }) {
    this.total = total.usd;
    this.list.fill(targets, (one) => JSON.stringify([one.provider, one.model]));
    say(find("costs-note"), [shown(targets.length, counts.targets), `${money(total.usd)} in all`].filter(Boolean).join(", "));
  }
}

class Events {
  constructor() {
    const begin = () => {
      const part = { when: make("span", "when muted"), kind: make("span", "pill"), words: make("span", "words") };
      part.root = make("li", "event", part.kind, part.words, part.when);
      return part;
    };
    this.list = new List(find("events"), begin, (part, event) => {
      say(part.when, ago(this.at - event.at));
      const [kind, state, words] = describe(event);
      say(part.kind, kind);
      dress(part.kind, `pill ${state}`);
      say(part.words, event.count > 1 ? `${words} (${count(event.count)} times)` : words);
    });
  }

  show({ events, at }) {
    this.at = at;
    this.list.fill(events.slice(0, 20), (one) => JSON.stringify([one.kind, one.provider, one.model, one.session]));
  }
}

/** An event as its kind, the colour of it, and a sentence. */
function describe(event) {
  const lane = event.model ? `${event.provider}/${event.model}` : event.provider;
  const whose = event.session ? `, asked by ${event.session}` : "";
  const reason = event.detail ? `: ${event.detail}` : "";
  switch (event.kind) {
    case "fell_back":
      return ["fallback", "probing", `to ${lane}${event.detail ? ` after ${event.detail}` : ""}${whose}`];
    case "limited":
      return ["limited", "limited", `${lane} for ${duration(event.forMs)}${whose}`];
    case "circuit_opened":
      return ["circuit open", "open", `${lane} for ${duration(event.forMs)}${reason}`];
    case "circuit_closed":
      return ["circuit closed", "ready", `${lane}${reason}`];
    case "account_refused":
      return ["refused", "paused", `${lane} for ${duration(event.forMs)}${reason}`];
    default:
      return [plain(event.kind), "", `${lane}${reason}${whose}`];
  }
}
