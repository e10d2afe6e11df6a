// Draws the icons of the installed page: a prompt in a rounded square. Run it after a change of the drawing and commit
// the files; the build only copies them.
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { crc32, deflateSync } from 'node:zlib';

const target = join(dirname(fileURLToPath(import.meta.url)), '..', 'public');
const BACKGROUND = [0x1b, 0x1e, 0x25];
const ACCENT = [0x7a, 0xa2, 0xff];
const LIGHT = [0xe8, 0xea, 0xee];
const SAMPLES = 4;

/** Distance of a point from a line segment, all in units of the icon's edge. */
function distance(x, y, [x1, y1, x2, y2]) {
  const dx = x2 - x1;
  const dy = y2 - y1;
  const t = Math.max(0, Math.min(1, ((x - x1) * dx + (y - y1) * dy) / (dx * dx + dy * dy)));
  return Math.hypot(x - x1 - t * dx, y - y1 - t * dy);
}

function insideRoundedSquare(x, y, radius) {
  const cx = Math.max(radius, Math.min(1 - radius, x));
  const cy = Math.max(radius, Math.min(1 - radius, y));
  return Math.hypot(x - cx, y - cy) <= radius;
}

/** Colour at a point, or null outside the icon. */
function colour(x, y, maskable) {
  if (!maskable && !insideRoundedSquare(x, y, 0.22)) return null;
  const scale = maskable ? 0.8 : 1;
  const u = (x - 0.5) / scale + 0.5;
  const v = (y - 0.5) / scale + 0.5;
  const stroke = 0.045;
  if (distance(u, v, [0.27, 0.32, 0.45, 0.5]) < stroke || distance(u, v, [0.45, 0.5, 0.27, 0.68]) < stroke) return ACCENT;
  if (distance(u, v, [0.53, 0.68, 0.73, 0.68]) < stroke) return LIGHT;
  return BACKGROUND;
}

function pixels(size, maskable) {
  const rows = Buffer.alloc(size * (size * 4 + 1));
  for (let row = 0; row < size; row += 1) {
    for (let column = 0; column < size; column += 1) {
      const sum = [0, 0, 0, 0];
      for (let s = 0; s < SAMPLES * SAMPLES; s += 1) {
        const x = (column + ((s % SAMPLES) + 0.5) / SAMPLES) / size;
        const y = (row + (Math.floor(s / SAMPLES) + 0.5) / SAMPLES) / size;
        const c = colour(x, y, maskable);
        if (c) c.concat(255).forEach((value, i) => (sum[i] += value));
      }
      const covered = sum[3] / 255 || 1;
      const at = row * (size * 4 + 1) + 1 + column * 4;
      for (let i = 0; i < 3; i += 1) rows[at + i] = Math.round(sum[i] / covered);
      rows[at + 3] = Math.round(sum[3] / (SAMPLES * SAMPLES));
    }
  }
  return rows;
}

function chunk(type, data) {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const check = Buffer.alloc(4);
  check.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, check]);
}

function png(size, maskable) {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(size, 0);
  header.writeUInt32BE(size, 4);
  header.set([8, 6, 0, 0, 0], 8);
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(pixels(size, maskable), { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

writeFileSync(join(target, 'icon-192.png'), png(192, false));
writeFileSync(join(target, 'icon-512.png'), png(512, false));
writeFileSync(join(target, 'icon-maskable-512.png'), png(512, true));
