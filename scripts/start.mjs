import { buildIfStale } from './build-if-stale.mjs';

buildIfStale();
// In this very process, so that a signal to it reaches the server.
await import(new URL('../dist/src/main.js', import.meta.url).href);
