import zlib from 'node:zlib';

export function inflateSync(data: Buffer): Buffer {
  return zlib.inflateSync(data);
}

export function deflateSync(data: Buffer): Buffer {
  return zlib.deflateSync(data, { level: 9 });
}

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? 0xedb88320 ^ (value >>> 1) : value >>> 1;
  return value;
});

/** The checksum of a PNG's chunks; Node has it from version 22 on. */
export function crc32(data: Buffer): number {
  let value = 0xffffffff;
  for (const byte of data) value = (TABLE[(value ^ byte) & 255] ?? 0) ^ (value >>> 8);
  return (value ^ 0xffffffff) >>> 0;
}
