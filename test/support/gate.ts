/** A gate that one part of a test waits at until another opens it: how interleavings are named without sleeping. */
export class Gate {
  readonly passed: Promise<void>;
  private resolve: () => void = () => undefined;

  constructor() {
    this.passed = new Promise((resolve) => {
      this.resolve = resolve;
    });
  }

  open(): void {
    this.resolve();
  }
}
