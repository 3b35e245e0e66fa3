import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** Says when the last build began; the compiler itself leaves files alone that have not changed. */
const STAMP = join(ROOT, 'dist/.built');
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
  if (SOURCES.every((source) => newest(join(ROOT, source)) <= lastBuild())) return;
  const begun = new Date();
  const { status } = spawnSync('npm', ['run', '--silent', 'build'], { cwd: ROOT, stdio: ['ignore', 2, 2] });
  if (status !== 0) throw new Error('The build failed.');
  writeFileSync(STAMP, '');
  // What was changed while the build ran may not be in it.
  utimesSync(STAMP, begun, begun);
}

/** @returns {number} when the last build began, 0 before the first */
function lastBuild() {
  return existsSync(STAMP) ? statSync(STAMP).mtimeMs : 0;
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
