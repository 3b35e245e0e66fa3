/** Keeps the last part of a stream, whatever came before. */
export class Tail {
  private kept = '';

  constructor(private readonly characters: number) {}

  append(chunk: string): void {
    this.kept = (this.kept + chunk).slice(-this.characters);
  }

  get text(): string {
    return this.kept.trim();
  }
}
