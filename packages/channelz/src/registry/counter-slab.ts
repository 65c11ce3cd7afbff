/** Rows per chunk; the first row of a chunk is its header. */
const rowsPerChunk = 512;
const freeHead = 0;
const usedRows = 1;

/** The location of an object's counters: `at` is the index of the first in `cells`, or 0 if it has no row. */
export interface CounterRow {
  cells: Float64Array;
  at: number;
}

/**
 * Counters and times of many objects in a few large arrays: no object per counter, and nothing for the garbage collector to visit.
 * A chunk is freed with its last row.
 *
 * The first row of a chunk is its header (head of the free list, rows in use), and a free row contains the index of the next one.
 * Rows start at `width`, so 0 is never a row and means "none".
 */
export class CounterSlab {
  /** The cells of an object without a row. All zero, and never written to. */
  static readonly none: Float64Array = new Float64Array(16);

  readonly #width: number;
  /** The chunks with free rows. Only its objects refer to a full chunk. */
  readonly #open: Float64Array[] = [];

  constructor(width: number) {
    this.#width = width;
  }

  /** Allocates a zeroed row. */
  claim(row: CounterRow): void {
    const cells = this.#open.at(-1) ?? this.#addChunk();
    // As an integer: a float from the cells would be boxed in each object and converted on each count.
    const at = cells[freeHead]! | 0;
    cells[freeHead] = cells[at]!;
    cells[at] = 0;
    cells[usedRows]! += 1;
    if (cells[freeHead] === 0) this.#open.pop();
    row.cells = cells;
    row.at = at;
  }

  /** Frees a row. */
  release(row: CounterRow): void {
    const { cells, at } = row;
    if (at === 0) return;
    row.cells = CounterSlab.none;
    row.at = 0;
    cells.fill(0, at, at + this.#width);
    const wasFull = cells[freeHead] === 0;
    cells[at] = cells[freeHead]!;
    cells[freeHead] = at;
    cells[usedRows]! -= 1;
    if (wasFull) this.#open.push(cells);
    // One empty chunk is kept, so that adding and removing a single object does not allocate each time.
    if (cells[usedRows] === 0 && this.#open.length > 1) this.#open.splice(this.#open.indexOf(cells), 1);
  }

  #addChunk(): Float64Array {
    const width = this.#width;
    const cells = new Float64Array(rowsPerChunk * width);
    for (let row = 1; row < rowsPerChunk - 1; row += 1) cells[row * width] = (row + 1) * width;
    cells[freeHead] = width;
    this.#open.push(cells);
    return cells;
  }
}
