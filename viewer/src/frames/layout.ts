/** The format of frames, as `tickmind.viewer.frames.layout` describes it. Typed arrays lie over the bytes, uncopied. */

import { ENTRY_BYTES, HEAD_BYTES, VERSION } from "../codes";

export class FrameError extends Error {}

const decoder = new TextDecoder();

/** One frame: what it is, and its sections as views of the buffer that it came in. */
export class Frame {
  constructor(
    readonly kind: number,
    readonly tick: number,
    readonly timeMs: number,
    readonly bytes: number,
    private readonly buffer: ArrayBuffer,
    private readonly sections: Map<number, [offset: number, size: number]>,
  ) {}

  u8(tag: number): Uint8Array {
    const [at, size] = this.sections.get(tag) ?? [0, 0];
    return new Uint8Array(this.buffer, at, size);
  }

  i16(tag: number): Int16Array {
    const [at, size] = this.sections.get(tag) ?? [0, 0];
    return new Int16Array(this.buffer, at, size >> 1);
  }

  u16(tag: number): Uint16Array {
    const [at, size] = this.sections.get(tag) ?? [0, 0];
    return new Uint16Array(this.buffer, at, size >> 1);
  }

  i32(tag: number): Int32Array {
    const [at, size] = this.sections.get(tag) ?? [0, 0];
    return new Int32Array(this.buffer, at, size >> 2);
  }

  u32(tag: number): Uint32Array {
    const [at, size] = this.sections.get(tag) ?? [0, 0];
    return new Uint32Array(this.buffer, at, size >> 2);
  }

  /** A section of JSON, or what it is instead where there is none. */
  json<T>(tag: number, none: T): T {
    const found = this.sections.get(tag);
    if (!found) return none;
    return JSON.parse(decoder.decode(new Uint8Array(this.buffer, found[0], found[1]))) as T;
  }
}

/** Takes frames apart that follow each other in a buffer. */
export function unpack(buffer: ArrayBuffer): Frame[] {
  const view = new DataView(buffer);
  const frames: Frame[] = [];
  let at = 0;
  while (at < buffer.byteLength) {
    if (at + HEAD_BYTES > buffer.byteLength) throw new FrameError("a frame's head is cut short");
    const version = view.getUint8(at);
    if (version !== VERSION) throw new FrameError(`frames of version ${version} can't be read; reload the page`);
    const kind = view.getUint8(at + 1);
    const count = view.getUint16(at + 2, true);
    const size = view.getUint32(at + 4, true);
    const tick = Number(view.getBigInt64(at + 8, true));
    const timeMs = Number(view.getBigInt64(at + 16, true));
    let place = at + HEAD_BYTES + count * ENTRY_BYTES;
    if (at + size > buffer.byteLength || place > at + size) throw new FrameError("a frame is cut short");
    const sections = new Map<number, [number, number]>();
    for (let entry = 0; entry < count; entry += 1) {
      const head = at + HEAD_BYTES + entry * ENTRY_BYTES;
      const length = view.getUint32(head + 4, true);
      if (place + length > at + size) throw new FrameError("a section is cut short");
      sections.set(view.getUint16(head, true), [place, length]);
      place += (length + 7) & ~7;
    }
    frames.push(new Frame(kind, tick, timeMs, size, buffer, sections));
    at += size;
  }
  return frames;
}
