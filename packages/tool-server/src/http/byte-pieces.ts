/** How many pieces are kept as they came. */
const mostPieces = 256;
/** From which length on, on the average, they are not worth joining, in bytes. */
const largePiece = 1024;

/**
 * Bytes that come in pieces, and are to be one in the end. Small ones are joined on the way: each takes far more memory than its bytes, and a
 * server may send them one by one.
 */
export class BytePieces {
  #pieces: Buffer[] = [];
  /** How many of them were joined, or need not be. */
  #settled = 0;
  /** How long the others are. */
  #bytes = 0;

  get isEmpty(): boolean {
    return this.#pieces.length === 0;
  }

  /** How many pieces it keeps now. */
  get count(): number {
    return this.#pieces.length;
  }

  push(piece: Buffer): void {
    this.#pieces.push(piece);
    this.#bytes += piece.length;
    if (this.#pieces.length - this.#settled < mostPieces) return;
    if (this.#bytes < mostPieces * largePiece) this.#pieces.push(Buffer.concat(this.#pieces.splice(this.#settled)));
    this.#settled = this.#pieces.length;
    this.#bytes = 0;
  }

  /** All of them as one, which are then gone. */
  take(): Buffer {
    const [first] = this.#pieces;
    const whole = first !== undefined && this.#pieces.length === 1 ? first : Buffer.concat(this.#pieces);
    this.#pieces = [];
    this.#settled = 0;
    this.#bytes = 0;
    return whole;
  }
}
