import type { ChildProcess } from 'node:child_process';

/**
 * A program that leads a process group of its own, so that it can be ended together with what it starts.
 *
 * What the leader leaves behind when it ends is killed: nobody watches it any more.
 */
export class ProcessGroup {
  constructor(private readonly leader: ChildProcess) {
    leader.once('exit', () => this.signal('SIGKILL'));
  }

  /** Asks the group to end, and kills it when the leader has not obeyed after the grace. */
  end(graceMs: number): void {
    if (!this.signal('SIGTERM')) return;
    const kill = setTimeout(() => this.signal('SIGKILL'), graceMs);
    this.leader.once('exit', () => {
      clearTimeout(kill);
    });
  }

  /** Answers whether there still was a group to signal. */
  private signal(name: NodeJS.Signals): boolean {
    if (this.leader.pid === undefined) return false;
    try {
      return process.kill(-this.leader.pid, name);
    } catch {
      return false;
    }
  }
}
