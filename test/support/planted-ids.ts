import { Ids } from '../../src/random/ids.js';

/** Ids of which the test knows the next. */
export class PlantedIds extends Ids {
  private planted: string | null = null;

  plant(id: string): void {
    this.planted = id;
  }

  override next(): string {
    const id = this.planted ?? super.next();
    this.planted = null;
    return id;
  }
}
