/** How fast so many callers at once get work done. */

/** @typedef {{ perSecond: number, p50Ms: number, p99Ms: number }} Round */

/**
 * Has each caller take one group after the other until the time is up, and send what is in it, each piece once the one
 * before is answered. Groups that were begun are ended; what is answered late does not count, since by and by fewer
 * callers send.
 *
 * @template T
 * @param {{ callers: number, seconds: number }} extent
 * @param {() => readonly T[]} nextGroup
 * @param {(piece: T) => Promise<unknown>} send
 * @returns {Promise<Round>}
 */
export async function measureRound({ callers, seconds }, nextGroup, send) {
  /** @type {number[]} */
  const latencies = [];
  const end = performance.now() + seconds * 1000;
  const call = async () => {
    while (performance.now() < end) {
      for (const piece of nextGroup()) {
        const asked = performance.now();
        await send(piece);
        const answered = performance.now();
        if (answered <= end) latencies.push(answered - asked);
      }
    }
  };
  await Promise.all(Array.from({ length: callers }, call));
  latencies.sort((one, other) => one - other);
  return {
    perSecond: latencies.length / seconds,
    p50Ms: quantile(latencies, 0.5),
    p99Ms: quantile(latencies, 0.99),
  };
}

/**
 * The medians of the rounds, each figure's its own, and the slowest and the fastest of them.
 *
 * @param {readonly Round[]} rounds
 */
export function summarise(rounds) {
  const ascending = (/** @type {keyof Round} */ key) =>
    rounds.map((round) => round[key]).sort((one, other) => one - other);
  const rates = ascending('perSecond').map(Math.round);
  return {
    value: quantile(rates, 0.5),
    p50Ms: rounded(quantile(ascending('p50Ms'), 0.5)),
    p99Ms: rounded(quantile(ascending('p99Ms'), 0.5)),
    min: quantile(rates, 0),
    max: quantile(rates, 1),
  };
}

/**
 * By nearest rank, so that every figure is one that was measured.
 *
 * @param {readonly number[]} ascending
 * @param {number} share
 */
function quantile(ascending, share) {
  return ascending[Math.max(0, Math.ceil(share * ascending.length) - 1)] ?? NaN;
}

/** @param {number} milliseconds */
function rounded(milliseconds) {
  return Math.round(milliseconds * 1000) / 1000;
}
