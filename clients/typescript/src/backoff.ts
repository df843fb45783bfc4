/** How long to wait before the next try: twice as long each time, up to a limit, and never quite the same. */
export class Backoff {
  #firstMs: number;
  #longestMs: number;
  #random: () => number;

  constructor(firstMs = 250, longestMs = 5000, random: () => number = Math.random) {
    this.#firstMs = firstMs;
    this.#longestMs = longestMs;
    this.#random = random;
  }

  /** Return the wait after so many failures in a row, in milliseconds. */
  waitMs(failures: number): number {
    const most = Math.min(this.#longestMs, this.#firstMs * 2 ** Math.min(failures, 30));
    return most * (0.5 + 0.5 * this.#random());
  }
}
