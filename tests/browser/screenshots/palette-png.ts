import { crc32, deflateSync, inflateSync } from './zlib';

/**
 * A PNG with at most 256 colours, a third of the size of the browser's. The pictures have few colours beside the
 * smoothed edges of letters, for which the nearest common colour is good enough.
 */
export function palettePng(png: Buffer): Buffer {
  const { width, height, pixels } = decode(png);
  const { palette, indices } = quantize(pixels);
  const rows = Buffer.alloc((width + 1) * height);
  for (let y = 0; y < height; y += 1) indices.copy(rows, y * (width + 1) + 1, y * width, (y + 1) * width);
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 3, 0, 0, 0], 8);
  const colours = Buffer.from(palette.flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255]));
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([signature, chunk('IHDR', header), chunk('PLTE', colours), chunk('IDAT', deflateSync(rows)), chunk('IEND', Buffer.alloc(0))]);
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const frame = Buffer.alloc(8);
  frame.writeUInt32BE(data.length, 0);
  frame.writeUInt32BE(crc32(body), 4);
  return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)]);
}

/** Reads a PNG with 8 bits per sample, as browsers write it; colours are numbers such as 0xrrggbb. */
function decode(png: Buffer): { width: number; height: number; pixels: Uint32Array } {
  const width = png.readUInt32BE(16);
  const height = png.readUInt32BE(20);
  const samples = png[25] === 6 ? 4 : 3;
  const data: Buffer[] = [];
  for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at)) {
    if (png.toString('latin1', at + 4, at + 8) === 'IDAT') data.push(png.subarray(at + 8, at + 8 + png.readUInt32BE(at)));
  }
  const bytes = inflateSync(Buffer.concat(data));
  const stride = width * samples;
  let above = new Uint8Array(stride);
  const pixels = new Uint32Array(width * height);
  for (let y = 0; y < height; y += 1) {
    const filter = bytes[y * (stride + 1)] ?? 0;
    const row = Uint8Array.from(bytes.subarray(y * (stride + 1) + 1, (y + 1) * (stride + 1)));
    for (let i = 0; i < stride; i += 1) {
      const [left, up, corner] = [i < samples ? 0 : (row[i - samples] ?? 0), above[i] ?? 0, i < samples ? 0 : (above[i - samples] ?? 0)];
      row[i] = (row[i] ?? 0) + predicted(filter, left, up, corner);
    }
    for (let x = 0; x < width; x += 1) {
      const at = x * samples;
      pixels[y * width + x] = ((row[at] ?? 0) << 16) | ((row[at + 1] ?? 0) << 8) | (row[at + 2] ?? 0);
    }
    above = row;
  }
  return { width, height, pixels };
}

function predicted(filter: number, left: number, up: number, corner: number): number {
  if (filter === 1) return left;
  if (filter === 2) return up;
  if (filter === 3) return (left + up) >> 1;
  if (filter !== 4) return 0;
  const estimate = left + up - corner;
  const [a, b, c] = [Math.abs(estimate - left), Math.abs(estimate - up), Math.abs(estimate - corner)];
  return a <= b && a <= c ? left : b <= c ? up : corner;
}

/** The 256 most common colours, no two of them close to each other, and for each pixel the nearest. */
function quantize(pixels: Uint32Array): { palette: number[]; indices: Buffer } {
  const counts = new Map<number, number>();
  for (const pixel of pixels) counts.set(pixel, (counts.get(pixel) ?? 0) + 1);
  const sorted = [...counts].sort((a, b) => b[1] - a[1] || a[0] - b[0]).map(([colour]) => colour);
  const palette: number[] = [];
  for (const apart of [150, 0]) {
    for (const colour of sorted) {
      if (palette.length === 256) break;
      if (palette.every((other) => distance(colour, other) > apart)) palette.push(colour);
    }
  }
  const nearest = new Map<number, number>();
  for (const colour of sorted) {
    let best = 0;
    for (let i = 1; i < palette.length; i += 1) {
      if (distance(colour, palette[i] ?? 0) < distance(colour, palette[best] ?? 0)) best = i;
    }
    nearest.set(colour, best);
  }
  return { palette, indices: Buffer.from(Array.from(pixels, (pixel) => nearest.get(pixel) ?? 0)) };
}

function distance(a: number, b: number): number {
  const [red, green, blue] = [(a >> 16) - (b >> 16), ((a >> 8) & 255) - ((b >> 8) & 255), (a & 255) - (b & 255)];
  return 3 * red * red + 6 * green * green + blue * blue;
}
