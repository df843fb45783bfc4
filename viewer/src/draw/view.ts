/** The camera: which part of the map is on screen, and how it gets from one to another. */

export const NEAREST = 110; // pixels of a tile
const EASE_MS = 130;

export class Camera2d {
  x = 0; // tile in the middle of the screen
  y = 0;
  scale = 24; // pixels of a tile
  private goalX = 0;
  private goalY = 0;
  private goalScale = 24;

  constructor(
    private readonly columns: number,
    private readonly rows: number,
    public width = 1,
    public height = 1,
  ) {}

  get furthest(): number {
    return Math.max(0.15, Math.min(20, 0.9 * Math.min(this.width / this.columns, this.height / this.rows)));
  }

  /** Whether all of the map is on screen. */
  get showsAll(): boolean {
    const [left, top] = this.toTile(0, 0);
    const [right, bottom] = this.toTile(this.width, this.height);
    return left <= 0 && top <= 0 && right >= this.columns && bottom >= this.rows;
  }

  /** Show all of the map, or as much as there is to be seen well. */
  fit(atOnce = true): void {
    const whole = Math.min((this.width - 24) / this.columns, (this.height - 24) / this.rows);
    this.go(this.columns / 2, this.rows / 2, Math.min(44, Math.max(whole, this.furthest)), atOnce);
  }

  go(x: number, y: number, scale = this.goalScale, atOnce = false): void {
    this.goalX = Math.min(Math.max(x, 0), this.columns);
    this.goalY = Math.min(Math.max(y, 0), this.rows);
    this.goalScale = Math.min(Math.max(scale, this.furthest), NEAREST);
    if (atOnce) [this.x, this.y, this.scale] = [this.goalX, this.goalY, this.goalScale];
  }

  pan(pixelsX: number, pixelsY: number, atOnce = true): void {
    this.go(this.goalX - pixelsX / this.scale, this.goalY - pixelsY / this.scale, this.goalScale);
    if (atOnce) [this.x, this.y] = [this.goalX, this.goalY];
  }

  /** Zoom so that what is under a point of the screen stays there. */
  zoom(by: number, pixelX = this.width / 2, pixelY = this.height / 2): void {
    const scale = Math.min(Math.max(this.goalScale * by, this.furthest), NEAREST);
    const fromX = this.goalX + (pixelX - this.width / 2) / this.goalScale;
    const fromY = this.goalY + (pixelY - this.height / 2) / this.goalScale;
    this.go(fromX - (pixelX - this.width / 2) / scale, fromY - (pixelY - this.height / 2) / scale, scale);
  }

  /** Come nearer to where it is going; tells whether it moved. */
  ease(elapsedMs: number): boolean {
    const share = 1 - Math.exp(-elapsedMs / EASE_MS);
    const before = [this.x, this.y, this.scale];
    const near = Math.abs(this.goalScale - this.scale) < 0.01 && Math.hypot(this.goalX - this.x, this.goalY - this.y) < 0.005;
    if (near) [this.x, this.y, this.scale] = [this.goalX, this.goalY, this.goalScale];
    else {
      this.x += (this.goalX - this.x) * share;
      this.y += (this.goalY - this.y) * share;
      this.scale += (this.goalScale - this.scale) * share;
    }
    return before[0] !== this.x || before[1] !== this.y || before[2] !== this.scale;
  }

  toScreen(x: number, y: number): [number, number] {
    return [(x - this.x) * this.scale + this.width / 2, (y - this.y) * this.scale + this.height / 2];
  }

  toTile(pixelX: number, pixelY: number): [number, number] {
    return [(pixelX - this.width / 2) / this.scale + this.x, (pixelY - this.height / 2) / this.scale + this.y];
  }
}
