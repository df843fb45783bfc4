/** The run as a chronicle: plain sentences made from its record, each of which leads to its tick. */

import { useEffect, useState } from "preact/hooks";
import type { App } from "../app";
import type { Story, StorySentence } from "../film/source";
import { count } from "../words";
import { Face } from "./people";

type Answer = { state: "reading" } | { state: "failed"; why: string } | { state: "told"; story: Story };

function useStory(app: App): [Answer, () => void] {
  const [answer, setAnswer] = useState<Answer>({ state: "reading" });
  const [asked, setAsked] = useState(0);
  useEffect(() => {
    const control = new AbortController();
    app.source
      .story?.(control.signal)
      .then((story) => setAnswer({ state: "told", story }))
      .catch((error: Error) => {
        if (!control.signal.aborted) setAnswer({ state: "failed", why: error.message });
      });
    return () => control.abort();
  }, [asked]);
  return [answer, () => setAsked((times) => times + 1)];
}

function Sentence({ app, sentence }: { app: App; sentence: StorySentence }) {
  const row = app.world.rowOf.get(sentence.people[0] ?? "") ?? -1;
  const go = () => {
    app.player.playing = false;
    app.seek(sentence.tick_id);
  };
  const now = app.tick.value >= sentence.tick_id;
  return (
    <li class={now ? "" : "later"}>
      <button type="button" class="sentence" onClick={go} title={`Go to tick ${sentence.tick_id}`}>
        {row >= 0 ? <Face app={app} row={row} /> : <span class="face none" aria-hidden="true" />}
        <span>
          <span class="clock-of">{sentence.clock}</span> <span dir="auto">{sentence.text}</span>
        </span>
      </button>
    </li>
  );
}

export function StoryView({ app }: { app: App }) {
  const [answer, readAgain] = useStory(app);
  if (answer.state === "reading") {
    return (
      <div class="empty" role="status">
        <progress />
        <p>Reading the run, {count(app.last.value)} ticks of it.</p>
      </div>
    );
  }
  if (answer.state === "failed") {
    return (
      <div class="empty">
        <p>The story can't be made: {answer.why}</p>
        <button type="button" onClick={readAgain}>
          Try again
        </button>
      </div>
    );
  }
  const { story } = answer;
  const grown = app.last.value > story.last_tick_id;
  return (
    <div class="story">
      <p class="quiet">
        What happened, from the record alone. Choose a sentence to go there.{" "}
        {grown && (
          <button type="button" onClick={readAgain}>
            {count(app.last.value - story.last_tick_id)} more ticks
          </button>
        )}
      </p>
      {!story.days.length && <p class="empty">Nothing to tell has happened yet. The chronicle begins with the first gift, meeting or promise.</p>}
      {story.days.map(({ day, about, parts, left_out }) => (
        <section key={day}>
          <h2>
            Day {day}
            {about && <span class="quiet"> {about}</span>}
          </h2>
          {parts.map(({ part, sentences }) => (
            <div key={part}>
              <h3>{part}</h3>
              <ul>
                {sentences.map((sentence, at) => (
                  <Sentence key={at} app={app} sentence={sentence} />
                ))}
              </ul>
            </div>
          ))}
          {left_out > 0 && <p class="quiet">{count(left_out)} smaller things are left out.</p>}
        </section>
      ))}
      {story.ending.length > 0 && (
        <section>
          <h2>In the end</h2>
          {story.ending.map((text) => (
            <p key={text} dir="auto">
              {text}
            </p>
          ))}
        </section>
      )}
    </div>
  );
}
