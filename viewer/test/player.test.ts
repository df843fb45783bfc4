import { describe, expect, it } from "vitest";
import { clockOf, daysOf, hourOf, lightAt } from "../src/film/daylight";
import type { Film } from "../src/film/film";
import { Player } from "../src/film/player";
import { placeAbove, placeBubble } from "../src/draw/overlay";
import type { Calendar } from "../src/frames/world";
import { readHash, writeHash } from "../src/hash";

function filmOf(last: number, { growing = false, reach = last } = {}) {
  return {
    span: { run_id: "r", first: 1, last, growing, connected: true, live: growing },
    scene: { tick: 0 },
    windowTicks: 64,
    world: { info: { tick_ms: 1000 } },
    has: (tick: number) => tick <= reach,
    reaches: (tick: number) => tick <= reach,
    need: async () => {},
  } as unknown as Film;
}

describe("the playhead", () => {
  it("shows the tick that everybody is on the way to", () => {
    const player = new Player(filmOf(100));
    player.seek(10);
    expect([player.tick, player.progress]).toEqual([10, 1]);
    player.playing = true;
    player.advance(250);
    expect(player.tick).toBe(11);
    expect(player.progress).toBeCloseTo(0.25);
    player.advance(750);
    expect([player.tick, player.progress]).toEqual([11, 1]);
  });

  it("goes as fast as it is told to, and stops at the end", () => {
    const player = new Player(filmOf(20));
    player.seek(2);
    player.playing = true;
    player.speed = 8;
    player.advance(1000);
    expect(player.position).toBeCloseTo(10);
    player.advance(5000);
    expect([player.tick, player.playing]).toEqual([20, false]);
  });

  it("waits where frames are missing instead of skipping them", () => {
    const player = new Player(filmOf(100, { reach: 12 }));
    player.seek(12);
    player.playing = true;
    expect(player.advance(500)).toBe(false);
    expect([player.tick, player.waiting]).toEqual([12, true]);
  });

  it("does not wait for ticks that are gone", () => {
    const film = filmOf(500, { growing: true, reach: 500 });
    film.reaches = (tick: number) => tick >= film.span.first - 1;
    const player = new Player(film);
    player.seek(10);
    player.playing = true;
    film.span = { ...film.span, first: 200 };
    player.advance(250);
    player.advance(250);
    expect([player.waiting, player.tick, player.playing]).toEqual([false, 200, true]);
  });

  it("keeps up with a live world and comes back to it", () => {
    const film = filmOf(50, { growing: true, reach: 1000 });
    const player = new Player(film);
    player.follow();
    film.span = { ...film.span, last: 53 };
    for (let frame = 0; frame < 120; frame += 1) player.advance(16);
    expect(player.position).toBeGreaterThan(51.5);
    expect(player.position).toBeLessThanOrEqual(53);
    player.seek(5);
    expect([player.tick, player.following]).toEqual([5, false]);
    film.span = { ...film.span, last: 500 };
    player.follow();
    player.advance(16);
    expect(player.tick).toBe(500);
  });
});

describe("the light", () => {
  it("begins in the morning and comes back every day", () => {
    const calendar = { day_ticks: 100, first_minute: 7 * 60 };
    expect(hourOf(calendar, 0)).toBe(7);
    expect(clockOf(calendar, 0)).toBe("Day 1, 07:00");
    expect(clockOf(calendar, 100)).toBe("Day 2, 07:00");
    expect(clockOf({ day_ticks: 96, first_minute: 390 }, 70)).toBe("Day 2, 00:00"); // as CalendarInfo says
    expect(lightAt(calendar, 320)).toEqual(lightAt(calendar, 20));
    for (let at = 0; at < 100; at += 1) {
      for (const part of lightAt(calendar, at)) expect(part).toBeGreaterThan(0.4);
    }
  });
});

describe("the calendar", () => {
  const weights: [string, number][] = [["sun", 5], ["rain", 2], ["fog", 1]];

  it("has the weather that the world has", () => {
    const calendar = { day_ticks: 24, first_minute: 0, weather: weights, weather_key: 4123456789 };
    const days = Array.from({ length: 30 }, (_, day) => daysOf(calendar, 24 * day)[0]).join("");
    expect(days).toBe("ssrsrsssrrrrsssfrsfrssrffsssss"); // as CalendarInfo says
  });

  it("says season, weather and festivals, as far as there are any", () => {
    expect(daysOf({ day_ticks: 24, first_minute: 0 }, 30)).toBe("");
    const calendar: Calendar = {
      day_ticks: 24,
      first_minute: 0,
      seasons: [{ name: "summer", days: 2, weather: [] }, { name: "winter", days: 1, weather: [["snow", 1]] }],
      festivals: [
        { name: "harvest", day: 2, every: 3, hours: [600, 660], where: "", purpose: "" },
        { name: "new_year", day: 1, every: 0, hours: [1380, 60], where: "", purpose: "" },
      ],
    };
    const said = [0, 23, 24, 25, 34, 35, 48, 72, 106].map((tick) => daysOf(calendar, tick));
    const eve = "summer, new year";
    expect(said).toEqual(["summer", eve, eve, "summer", "summer, harvest", "summer", "winter, snow", "summer", "summer, harvest"]);
  });
});

describe("the night", () => {
  it("is said in its hours", () => {
    const said = (night: [number, number]) => [0, 5, 6, 12, 21].map((tick) => daysOf({ day_ticks: 24, first_minute: 0, night }, tick));
    expect(said([1260, 360])).toEqual(["night", "night", "", "", "night"]);
    expect(said([0, 360])).toEqual(["night", "night", "", "", ""]);
  });
});

describe("bubbles", () => {
  const box = (left: number, top: number) => ({ left, right: left + 50, top, bottom: top + 20 });

  it("go up until they cover nobody", () => {
    expect(placeAbove(box(0, 100), [])).toEqual(box(0, 100));
    const placed = placeAbove(box(10, 100), [box(0, 95), box(20, 75)]);
    expect(placed?.bottom).toBeLessThan(75);
  });

  it("are left out rather than far away", () => {
    const tower = Array.from({ length: 20 }, (_, at) => box(0, 100 - at * 22));
    expect(placeAbove(box(0, 100), tower)).toBeNull();
  });

  it("leave heads free where there is room, and else cover them", () => {
    const place = (heads: ReturnType<typeof box>[], y = 100) => placeBubble([200, y], [60, 20], 400, [], heads);
    expect(place([])).toEqual({ left: 170, right: 230, top: 80, bottom: 100 });
    const head = { left: 195, right: 205, top: 60, bottom: 90 };
    expect(place([head])?.bottom).toBeLessThan(60);
    const high = { left: 171, right: 181, top: 4, bottom: 90 };
    expect(place([high])?.left).toBeGreaterThan(180); // beside it
    expect(place([{ left: 0, right: 400, top: 0, bottom: 90 }])).toEqual(place([]));
  });

  it("stay below the upper edge: beside others, or left out", () => {
    const head = { left: 0, right: 400, top: 0, bottom: 90 };
    const place = (taken: ReturnType<typeof box>[]) => placeBubble([200, 30], [60, 20], 400, taken, [head]);
    const beside = place([{ left: 160, right: 185, top: 8, bottom: 28 }]);
    expect(beside).toMatchObject({ top: 10, bottom: 30 });
    expect(beside?.left).toBeGreaterThan(185);
    expect(place([{ left: 0, right: 400, top: 8, bottom: 28 }])).toBeNull();
  });
});

describe("the address", () => {
  it("keeps tick, character, panel and filters", () => {
    const kept = { tick: 42, actor: "entity:3", tab: "talk" as const, filters: { types: ["speech" as const, "failure" as const], actor: "ann", region: { left: 1, top: 2, right: 3, bottom: 4 } } };
    expect(readHash(writeHash(kept))).toEqual(kept);
    expect(writeHash(kept)).toBe("#tick=42&actor=entity:3&tab=talk&types=speech,failure&who=ann&region=1,2,3,4");
  });

  it("does not believe nonsense", () => {
    const read = readHash("#tick=-1&tab=evil&types=speech,<b>&region=1,2,x,4");
    expect(read).toEqual({ tick: null, actor: "", tab: null, filters: { types: ["speech"], actor: "", region: null } });
  });
});
