/** How many pieces are kept separately. */
const maxPieces = 256;
/** The average size in bytes from which joining is not worth it. */
const largePiece = 1024;

/**
 * Collects bytes that arrive in pieces. Small pieces are joined early: each costs much more memory than its bytes, and a server
 * may send single bytes.
 */
export class BytePieces {
  #pieces: Buffer[] = [];
  /** How many pieces were joined, or need not be. */
  #settled = 0;
  /** The size of the other pieces. */
  #bytes = 0;

  get isEmpty(): boolean {
    return this.#pieces.length === 0;
  }

  get count(): number {
    return this.#pieces.length;
  }

  push(piece: Buffer): void {
    this.#pieces.push(piece);
    this.#bytes += piece.length;
    if (this.#pieces.length - this.#settled < maxPieces) return;
    if (this.#bytes < maxPieces * largePiece) this.#pieces.push(Buffer.concat(this.#pieces.splice(this.#settled)));
    this.#settled = this.#pieces.length;
    this.#bytes = 0;
  }

  /** Returns all bytes in one buffer and clears the collection. */
  take(): Buffer {
    const [first] = this.#pieces;
    const whole = first !== undefined && this.#pieces.length === 1 ? first : Buffer.concat(this.#pieces);
    this.#pieces = [];
    this.#settled = 0;
    this.#bytes = 0;
    return whole;
  }
}
