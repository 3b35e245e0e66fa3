/** Ends a run with the one line that anything which runs the tests can read. */
export default class ClosingLine {
  /**
   * @param {unknown} _contexts
   * @param {import('@jest/test-result').AggregatedResult} results
   */
  onRunComplete(_contexts, results) {
    const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
    process.stdout.write(`${results.numPassedTests} passed, ${failed} failed\n`);
  }
}
