/** @typedef {{ stop(): Promise<void> }} Server */

/** @type {Server | undefined} */
let kept;

/**
 * Keeps the server for the teardown, which the runner gives nothing but the same process.
 *
 * @param {Server} server
 */
export function keep(server) {
  kept = server;
}

export async function stopKept() {
  await kept?.stop();
}
