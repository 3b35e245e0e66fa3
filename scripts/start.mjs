import { buildIfStale } from './build-if-stale.mjs';

buildIfStale();
// In this very process, so that a signal to it reaches the server.
await import('../dist/src/main.js');
