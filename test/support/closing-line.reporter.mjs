/** Ends a run with the one line that anything which runs the tests can read. */
export default class ClosingLine {
  /**
   * @param {unknown} _contexts
   * @param {{ numPassedTests: number, numFailedTests: number, numRuntimeErrorTestSuites: number }} results
   */
  onRunComplete(_contexts, results) {
    const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
    process.stdout.write(`${results.numPassedTests} passed, ${failed} failed\n`);
  }
}
