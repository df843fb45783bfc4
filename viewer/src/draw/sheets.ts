/** What the meshes of people and things share: one square for all, the camera, and how a sheet is read. */

import { Buffer, BufferUsage, Geometry, GlProgram, ImageSource, Shader, State, UniformGroup, type TextureSource } from "pixi.js";

/** What every mesh is told before it is drawn. */
export function cameraUniforms() {
  return new UniformGroup({
    uCentre: { value: new Float32Array([0, 0]), type: "vec2<f32>" }, // tile in the middle of the screen
    uScreen: { value: new Float32Array([1, 1]), type: "vec2<f32>" }, // pixels
    uScale: { value: 32, type: "f32" }, // pixels of a tile
    uProgress: { value: 1, type: "f32" }, // 0 to 1 on the way to the tick that is shown
    uRows: { value: 1, type: "f32" }, // height of the map
    uTime: { value: 0, type: "f32" }, // s, for what moves by itself
    uLight: { value: new Float32Array([1, 1, 1]), type: "vec3<f32>" },
  });
}

export type Camera = ReturnType<typeof cameraUniforms>;

export const CAMERA_GLSL = `
uniform vec2 uCentre;
uniform vec2 uScreen;
uniform float uScale;
uniform float uProgress;
uniform float uRows;
uniform float uTime;
vec4 onScreen(vec2 tile, float depth) {
  vec2 pixel = (tile - uCentre) * uScale / (uScreen * 0.5);
  return vec4(pixel.x, -pixel.y, depth, 1.0);
}
// Who stands further south is in front.
float depthOf(float y, float bias) {
  return 0.95 - 1.9 * clamp((y + 1.0 + bias) / (uRows + 3.0), 0.0, 1.0);
}
`;

export function sheetSource(canvas: HTMLCanvasElement): TextureSource {
  return new ImageSource({ resource: canvas, autoGenerateMipmaps: true, mipmapFilter: "nearest", scaleMode: "linear" });
}

export function program(name: string, vertex: string, fragment: string): GlProgram {
  const head = "#version 300 es\nprecision highp float;\n";
  return new GlProgram({ name, vertex: head + vertex, fragment: head + fragment });
}

export interface Column {
  name: string;
  data: Int16Array | Uint8Array;
  format: "sint16x2" | "sint16x4" | "uint8x4" | "unorm8x4";
}

/** Many squares in one call: each column has one entry for each of them. */
export function squares(columns: Column[], count: number): { geometry: Geometry; buffers: Buffer[] } {
  const corners = new Buffer({ data: new Float32Array([0, 0, 1, 0, 1, 1, 0, 1]), usage: BufferUsage.VERTEX });
  const buffers = columns.map(
    ({ data }) => new Buffer({ data, usage: BufferUsage.VERTEX | BufferUsage.COPY_DST, shrinkToFit: false }),
  );
  const attributes: Record<string, object> = { aCorner: { buffer: corners, format: "float32x2", stride: 8, offset: 0 } };
  columns.forEach(({ name, format }, at) => {
    attributes[name] = { buffer: buffers[at], format, stride: format === "sint16x4" ? 8 : 4, offset: 0, instance: true };
  });
  const geometry = new Geometry({
    attributes: attributes as never,
    indexBuffer: new Uint32Array([0, 1, 2, 0, 2, 3]),
    instanceCount: count,
  });
  return { geometry, buffers };
}

export function stateOf(depth: boolean): State {
  const state = State.for2d();
  state.depthTest = depth;
  state.depthMask = depth;
  state.culling = false;
  return state;
}

export { Shader };
