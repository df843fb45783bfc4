/** Who talks with whom: characters on a circle, and a line between two for each talk of theirs, thicker for more. */

import type { App } from "../app";
import { css, shirtOf } from "../draw/colours";
import type { Conversation } from "../events";

const SIZE = 300; // of the drawing
const RADIUS = 112;
const MOST = 24; // characters
const WIDEST = 7; // line
const LETTERS = 9; // of a name

interface Pair {
  one: number;
  other: number;
  lines: number;
}

/** Count the lines of each pair: a line is for whom it names, else for who spoke before in the same talk. */
export function pairsOf(talks: Conversation[], nameOf: (row: number) => string): Pair[] {
  const pairs = new Map<string, Pair>();
  for (const { rows, lines } of talks) {
    let before = -1;
    for (const { row, text } of lines) {
      const named = rows.find((other) => other !== row && text.includes(nameOf(other)));
      const listener = named ?? before;
      if (listener >= 0 && listener !== row) {
        const [one, other] = [Math.min(row, listener), Math.max(row, listener)];
        const pair = pairs.get(`${one} ${other}`) ?? { one, other, lines: 0 };
        pair.lines += 1;
        pairs.set(`${one} ${other}`, pair);
      }
      before = row;
    }
  }
  return [...pairs.values()].sort((one, other) => other.lines - one.lines);
}

export function TalkGraph({ app, talks }: { app: App; talks: Conversation[] }) {
  const { world } = app;
  const pairs = pairsOf(talks, (row) => world.nameOf(row));
  const rows = [...new Set(pairs.flatMap(({ one, other }) => [one, other]))].slice(0, MOST).sort((one, other) => one - other);
  if (rows.length < 2) return null;
  const most = pairs[0].lines;
  const places = new Map(
    rows.map((row, at) => {
      const angle = (2 * Math.PI * at) / rows.length - Math.PI / 2;
      return [row, [SIZE / 2 + RADIUS * Math.cos(angle), SIZE / 2 + RADIUS * Math.sin(angle)] as const];
    }),
  );
  const short = (row: number): string => {
    const letters = [...world.nameOf(row)];
    return letters.length > LETTERS ? `${letters.slice(0, LETTERS - 1).join("")}…` : letters.join("");
  };
  return (
    <figure class="talk-graph">
      <svg viewBox={`-10 0 ${SIZE + 20} ${SIZE}`} role="img" aria-label="Who talks with whom">
        {pairs.map(({ one, other, lines }) => {
          const [from, to] = [places.get(one), places.get(other)];
          if (!from || !to) return null;
          return (
            <path
              key={`${one} ${other}`}
              d={`M${from[0]} ${from[1]}Q${SIZE / 2} ${SIZE / 2} ${to[0]} ${to[1]}`}
              stroke-width={Math.max(1, (WIDEST * lines) / most)}
            >
              <title>{`${world.nameOf(one)} and ${world.nameOf(other)}: ${lines} lines`}</title>
            </path>
          );
        })}
        {rows.map((row) => {
          const [x, y] = places.get(row) as readonly [number, number];
          const below = y > SIZE / 2 - 1;
          return (
            <g key={row} onClick={() => app.visit(row)}>
              <circle cx={x} cy={y} r="9" fill={css(shirtOf(world.actorIds[row]))} />
              <text x={x} y={below ? y + 24 : y - 14} text-anchor="middle">
                {short(row)}
              </text>
            </g>
          );
        })}
      </svg>
      <figcaption class="quiet">Lines of the last ticks; choose a character to look into it.</figcaption>
    </figure>
  );
}
