import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const OUTPUT = join(ROOT, 'dist/src/main.js');
const SOURCES = [
  'src',
  'ormconfig.ts',
  'tsconfig.json',
  'tsconfig.build.json',
  'nest-cli.json',
  'package-lock.json',
];

/** Builds the server unless what is built is newer than everything it is built from. */
export function buildIfStale() {
  if (existsSync(OUTPUT) && SOURCES.every((source) => newest(join(ROOT, source)) <= statSync(OUTPUT).mtimeMs))
    return;
  const { status } = spawnSync('npm', ['run', '--silent', 'build'], { cwd: ROOT, stdio: ['ignore', 2, 2] });
  if (status !== 0) throw new Error('The build failed.');
}

/**
 * @param {string} path
 * @returns {number} when the file, or the newest of the folder's, was last changed
 */
function newest(path) {
  const stat = statSync(path);
  if (!stat.isDirectory()) return stat.mtimeMs;
  return Math.max(stat.mtimeMs, ...readdirSync(path).map((name) => newest(join(path, name))));
}
