/** Rows to a chunk; the first row of a chunk is its header. */
const rowsPerChunk = 512;
const freeHead = 0;
const usedRows = 1;

/** Where an object keeps its counters: `at` is the index of the first in `cells`. While `at` is 0 it has no row. */
export interface CounterRow {
  cells: Float64Array;
  at: number;
}

/**
 * Counters and times of many objects in a few large arrays: no object a counter, nothing for the garbage collector to visit,
 * and a chunk is given back when its last row is.
 *
 * A chunk describes itself in its first row (head of the list of free rows, rows in use), and a free row holds the index
 * of the next. Rows start at `width`, so that 0 is never a row and can say "none".
 */
export class CounterSlab {
  /** What an object without a row points to. All zero, and never written to. */
  static readonly none: Float64Array = new Float64Array(16);

  readonly #width: number;
  /** The chunks that have a free row. A full chunk is known only to the objects in it. */
  readonly #open: Float64Array[] = [];

  constructor(width: number) {
    this.#width = width;
  }

  /** Gives `row` a zeroed place of its own. */
  claim(row: CounterRow): void {
    const cells = this.#open.at(-1) ?? this.#addChunk();
    // As an integer: what is read from cells is a float, and would be boxed in each object and converted at each count.
    const at = cells[freeHead]! | 0;
    cells[freeHead] = cells[at]!;
    cells[at] = 0;
    cells[usedRows]! += 1;
    if (cells[freeHead] === 0) this.#open.pop();
    row.cells = cells;
    row.at = at;
  }

  /** Takes the place of `row` back. */
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
    // One empty chunk is kept, so that a single object that comes and goes does not allocate each time.
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
