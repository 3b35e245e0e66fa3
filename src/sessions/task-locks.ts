import { Mutex } from 'async-mutex';

/** A lock for each task that somebody is at, and none for any other: it is given back with its last user. */
export class TaskLocks {
  private readonly locks = new Map<string, { readonly mutex: Mutex; users: number }>();

  /** Runs `work` while nobody else is at the task. */
  async during<T>(taskId: string, work: () => Promise<T>): Promise<T> {
    const lock = this.locks.get(taskId) ?? { mutex: new Mutex(), users: 0 };
    this.locks.set(taskId, lock);
    lock.users += 1;
    try {
      return await lock.mutex.runExclusive(work);
    } finally {
      lock.users -= 1;
      if (lock.users === 0) this.locks.delete(taskId);
    }
  }

  /** How many tasks somebody is at. */
  get size(): number {
    return this.locks.size;
  }
}
