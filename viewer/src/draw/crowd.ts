/** All characters in three calls, however many: their shadows, themselves, and the badges over their heads. A fourth
 * draws those that have a letter or an emoji in place of a body.
 *
 * The places before and after the tick lie in one buffer that is written once a tick; how far everybody is on the way
 * is one number, so a frame in between costs the script nothing.
 */

import { Container, Mesh, type Buffer } from "pixi.js";
import type { Scene } from "../frames/scene";
import { HAIRS, SKINS, hairOf, shirtOf, skinOf } from "./colours";
import { Badge, CELLS, CELL_H, CELL_W, FALLEN, FOOT_X, FOOT_Y, LYING, TILE, drawPeople } from "./people";
import { SIDE, drawSigns, signsOf } from "./sprites";
import { CAMERA_GLSL, Shader, program, sheetSource, squares, stateOf, type Camera } from "./sheets";

const number = (value: number) => value.toFixed(6);
const W = number(CELL_W / TILE);
const H = number(CELL_H / TILE);
const LEFT = number(FOOT_X / TILE);
const UP = number(FOOT_Y / TILE);
const FEET = "0.86"; // where feet stand in a tile, from the north

const PLACES_GLSL = `
in vec2 aCorner;
in vec2 aFrom;
in vec2 aTo;
in vec4 aLook; // facing, status, whether it thinks, whether it is picked
in vec4 aColour; // shirt, and hair * 8 + skin
in vec4 aSign; // cell of its sign, or 0
bool has(float bits, float bit) { return mod(floor(bits / bit), 2.0) > 0.5; }
vec2 feet() { return mix(aFrom, aTo, uProgress) + vec2(0.5, ${FEET}); }
bool away() { return aTo.x < -0.5; }
`;

const SHADOW_VERTEX = `${CAMERA_GLSL}${PLACES_GLSL}
out vec2 vAt;
out float vDots;
void main() {
  vAt = aCorner * 2.0 - 1.0;
  vDots = uScale < 7.0 ? 1.0 : 0.0;
  bool lies = has(aLook.y, 1.0) || has(aLook.y, 2.0);
  gl_Position = onScreen(feet() + vAt * (lies ? vec2(0.52, 0.2) : vec2(0.33, 0.14)), 0.0);
  if (vDots > 0.5 || away()) gl_Position = vec4(2.0, 2.0, 0.0, 1.0);
}`;

const SHADOW_FRAGMENT = `
in vec2 vAt;
in float vDots;
out vec4 finalColor;
void main() { finalColor = vec4(0.0, 0.0, 0.0, 0.26 * smoothstep(1.0, 0.55, length(vAt))); }`;

const PERSON_VERTEX = `${CAMERA_GLSL}${PLACES_GLSL}
out vec2 vCell;
out vec2 vAt;
out vec4 vShirt;
out float vHair;
out float vSkin;
out float vGrey;
out float vDot;
const float VIEW[8] = float[8](4.0, 3.0, 2.0, 1.0, 0.0, 1.0, 2.0, 3.0);
void main() {
  vec2 moved = aTo - aFrom;
  bool walks = dot(moved, moved) > 0.0 && uProgress < 0.999;
  float way = aLook.x;
  bool asleep = has(aLook.y, 1.0);
  bool fallen = has(aLook.y, 2.0);
  float pose = walks ? (fract(uProgress * 2.0) < 0.5 ? 1.0 : 2.0) : 0.0;
  float cell = VIEW[int(way)] * 3.0 + pose;
  if (asleep) cell = ${number(LYING)};
  if (fallen) cell = ${number(FALLEN)};
  bool west = way > 4.5 && !asleep && !fallen;
  vShirt = vec4(aColour.rgb, aLook.w);
  float kind = floor(aColour.a * 255.0 + 0.5);
  vHair = floor(kind / 8.0);
  vSkin = mod(kind, 8.0);
  vGrey = has(aLook.y, 4.0) ? 1.0 : 0.0;
  vDot = uScale < 7.0 ? 1.0 : 0.0;
  vAt = aCorner * 2.0 - 1.0;
  vec2 foot = feet();
  float depth = depthOf(foot.y, 0.02);
  if (away()) {
    vCell = vec2(0.0);
    gl_Position = vec4(2.0, 2.0, 0.0, 1.0);
    return;
  }
  if (vDot > 0.5) {
    vCell = vec2(0.0);
    float size = max(0.42, 1.7 / uScale);
    gl_Position = onScreen(foot + vec2(0.0, -0.36) + vAt * size, depth);
    return;
  }
  if (aSign.x > 0.5) {
    gl_Position = vec4(2.0, 2.0, 0.0, 1.0);
    return;
  }
  float bob = walks ? -abs(sin(uProgress * 6.2832)) * 0.05 : 0.0;
  float breath = asleep ? sin(uTime * 1.6 + aTo.x) * 0.012 : 0.0;
  vCell = vec2((cell + (west ? 1.0 - aCorner.x : aCorner.x)) / ${number(CELLS)}, aCorner.y);
  vec2 at = vec2(aCorner.x * ${W} - ${LEFT}, aCorner.y * ${H} - ${UP} + bob + breath * (1.0 - aCorner.y));
  gl_Position = onScreen(foot + at, depth);
}`;

const table = (colours: number[][]) =>
  colours.map((colour) => `vec3(${colour.map((part) => number(part / 255)).join(", ")})`).join(", ");

const PERSON_FRAGMENT = `
in vec2 vCell;
in vec2 vAt;
in vec4 vShirt;
in float vHair;
in float vSkin;
in float vGrey;
in float vDot;
uniform sampler2D uBase;
uniform sampler2D uMask;
uniform vec3 uLight;
out vec4 finalColor;
const vec3 HAIR[${HAIRS.length}] = vec3[${HAIRS.length}](${table(HAIRS)});
const vec3 SKIN[${SKINS.length}] = vec3[${SKINS.length}](${table(SKINS)});
void main() {
  vec3 colour;
  float alpha;
  if (vDot > 0.5) {
    float away = length(vAt);
    alpha = smoothstep(1.0, 0.82, away);
    colour = (away > 0.66 ? vec3(0.12) : vShirt.rgb * 1.12) * alpha;
  } else {
    vec4 base = texture(uBase, vCell);
    vec4 mask = texture(uMask, vCell);
    vec3 own = vShirt.rgb * mask.r + HAIR[int(vHair)] * mask.g + SKIN[int(vSkin)] * mask.b;
    colour = base.rgb + (1.0 - base.a) * own;
    alpha = base.a + (1.0 - base.a) * mask.a;
  }
  if (alpha < 0.12) discard;
  colour = mix(colour, vec3(dot(colour, vec3(0.3, 0.55, 0.15))) * 0.92 + 0.06 * alpha, vGrey * 0.85);
  finalColor = vec4(colour * (uLight * 0.7 + 0.3), alpha); // nobody is lost in the dark
}`;

const SIGN_VERTEX = `${CAMERA_GLSL}${PLACES_GLSL}
out vec2 vAt;
out vec2 vCell;
out vec3 vShirt;
out float vGrey;
void main() {
  if (aSign.x < 0.5 || uScale < 7.0 || away()) {
    gl_Position = vec4(2.0, 2.0, 0.0, 1.0);
    return;
  }
  vec2 moved = aTo - aFrom;
  bool walks = dot(moved, moved) > 0.0 && uProgress < 0.999;
  bool lies = has(aLook.y, 1.0) || has(aLook.y, 2.0);
  float bob = walks ? -abs(sin(uProgress * 6.2832)) * 0.05 : 0.0;
  vAt = aCorner * 2.0 - 1.0;
  vShirt = aColour.rgb;
  vGrey = has(aLook.y, 4.0) ? 1.0 : 0.0;
  vec2 cell = vec2(mod(aSign.x, ${number(SIDE)}), floor((aSign.x + 0.5) / ${number(SIDE)}));
  vCell = (cell + aCorner) / ${number(SIDE)};
  vec2 foot = feet();
  vec2 size = lies ? vec2(0.46, 0.3) : vec2(0.46);
  gl_Position = onScreen(foot + vec2(0.0, 0.08 - size.y + bob) + vAt * size, depthOf(foot.y, 0.02));
}`;

const SIGN_FRAGMENT = `
in vec2 vAt;
in vec2 vCell;
in vec3 vShirt;
in float vGrey;
uniform sampler2D uSigns;
uniform vec3 uLight;
out vec4 finalColor;
void main() {
  float away = length(vAt);
  float alpha = smoothstep(1.0, 0.94, away);
  if (alpha < 0.12) discard;
  vec4 sign = texture(uSigns, vCell);
  vec3 disc = away > 0.86 ? vShirt * 0.55 : vShirt;
  vec3 colour = (sign.rgb + (1.0 - sign.a) * disc) * alpha;
  colour = mix(colour, vec3(dot(colour, vec3(0.3, 0.55, 0.15))) * 0.92 + 0.06 * alpha, vGrey * 0.85);
  finalColor = vec4(colour * (uLight * 0.7 + 0.3), alpha);
}`;

const BADGE_VERTEX = `${CAMERA_GLSL}${PLACES_GLSL}
out vec2 vCell;
void main() {
  float cell = 0.0;
  if (aLook.z > 0.5) cell = ${number(Badge.THINKING)};
  if (has(aLook.y, 4.0)) cell = ${number(Badge.UNCONTROLLED)};
  if (has(aLook.y, 1.0)) cell = ${number(Badge.ASLEEP)};
  if (has(aLook.y, 2.0)) cell = ${number(Badge.FALLEN)};
  if (cell < 0.5 || uScale < 12.0 || away()) {
    gl_Position = vec4(2.0, 2.0, 0.0, 1.0);
    return;
  }
  bool lies = has(aLook.y, 1.0) || has(aLook.y, 2.0);
  float size = clamp(17.0 / uScale, 0.32, 0.75);
  float sway = sin(uTime * 2.2 + aTo.x * 1.7 + aTo.y) * 0.03;
  vec2 at = feet() + vec2(lies ? -0.1 : 0.3, (lies ? -0.78 : -1.42) + sway);
  vCell = vec2((cell + aCorner.x) / ${number(CELLS)}, aCorner.y);
  gl_Position = onScreen(at + (aCorner - 0.5) * size * vec2(1.0, 1.333), 0.0);
}`;

const BADGE_FRAGMENT = `
in vec2 vCell;
uniform sampler2D uBase;
out vec4 finalColor;
void main() { finalColor = texture(uBase, vCell); }`;

type Layer = [layer: Container, name: string, vertex: string, fragment: string, textures: Record<string, unknown>, depth: boolean];

export class Crowd {
  readonly shadows = new Container();
  readonly people = new Container();
  readonly badges = new Container();
  private readonly buffers: Buffer[];
  private marked: number[] = []; // who thinks or is picked

  constructor(
    private readonly scene: Scene,
    camera: Camera,
  ) {
    const ids = scene.world.actorIds;
    const count = ids.length;
    const room = Math.max(1, count);
    const colours = new Uint8Array(4 * room);
    ids.forEach((id, row) => colours.set([...shirtOf(id), hairOf(id) * 8 + skinOf(id)], 4 * row));
    const { signs, cells } = signsOf(scene.world.info.people, count);
    const { geometry, buffers } = squares(
      [
        { name: "aFrom", data: scene.before, format: "sint16x2" },
        { name: "aTo", data: scene.places, format: "sint16x2" },
        { name: "aLook", data: scene.looks, format: "uint8x4" },
        { name: "aColour", data: colours, format: "unorm8x4" },
        { name: "aSign", data: cells, format: "uint8x4" },
      ],
      count,
    );
    this.buffers = buffers.slice(0, 3);
    const sheets = drawPeople();
    const base = sheetSource(sheets.base);
    const mask = sheetSource(sheets.mask);
    const layers: Layer[] = [
      [this.shadows, "shadows", SHADOW_VERTEX, SHADOW_FRAGMENT, {}, false],
      [this.people, "people", PERSON_VERTEX, PERSON_FRAGMENT, { uBase: base, uMask: mask }, true],
      ...(signs.length ? [[this.people, "signs", SIGN_VERTEX, SIGN_FRAGMENT, { uSigns: sheetSource(drawSigns(signs)) }, true] as Layer] : []),
      [this.badges, "badges", BADGE_VERTEX, BADGE_FRAGMENT, { uBase: base }, false],
    ];
    for (const [layer, name, vertex, fragment, textures, depth] of layers) {
      if (!count) continue;
      const shader = new Shader({ glProgram: program(name, vertex, fragment), resources: { camera, ...textures } });
      layer.addChild(new Mesh({ geometry: geometry as never, shader: shader as never, state: stateOf(depth) }));
    }
  }

  /** Take the scene over; once for each tick that is shown. Its own columns are what is drawn. */
  update(thinking: ReadonlySet<number>, picked: number): void {
    const { looks } = this.scene;
    for (const row of this.marked) looks[4 * row + 2] = looks[4 * row + 3] = 0;
    this.marked = [...thinking];
    for (const row of this.marked) looks[4 * row + 2] = 1;
    if (picked >= 0) {
      looks[4 * picked + 3] = 1;
      this.marked.push(picked);
    }
    for (const buffer of this.buffers) buffer.update();
  }
}
