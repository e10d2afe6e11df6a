// Fails when the page, compressed, is larger than what a phone on a bad connection should have to load.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const LIMIT = 400 * 1024;
const dist = process.env.SWB_PAGE_DIR ?? join(dirname(fileURLToPath(import.meta.url)), '..', 'dist');

const files = readdirSync(dist, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => join(entry.parentPath ?? entry.path, entry.name));

let total = 0;
for (const file of files.sort()) {
  const size = gzipSync(readFileSync(file), { level: 9 }).length;
  total += size;
  console.log(`${(size / 1024).toFixed(1).padStart(8)} KiB  ${relative(dist, file)}`);
}
console.log(`${(total / 1024).toFixed(1).padStart(8)} KiB  in all, of ${LIMIT / 1024}`);
if (total > LIMIT) {
  console.error('the compressed page is larger than its limit');
  process.exit(1);
}
