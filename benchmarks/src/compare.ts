/** One side of a comparison: does its work `count` times. */
export type Work = (count: number) => void;

export interface Comparison {
  /** Nanoseconds of one unit of work, the median of all rounds. */
  readonly ours: number;
  readonly theirs: number;
  /** Ours divided by theirs, the median of the rounds' ratios. */
  readonly ratio: number;
}

const rounds = 15;
/** Rounds that do not count: enough for the compiler, also where it has to wait for a core. */
const warmUps = 6;

/**
 * Measures two sides in one run, turn by turn, with the order swapped each round, so that the machine's moods meet both
 * alike. Between two turns the event loop goes round once, as it does in a process that serves.
 */
export async function compare(ours: Work, theirs: Work, count: number): Promise<Comparison> {
  const samples: { ours: number; theirs: number }[] = [];
  for (let round = -warmUps; round < rounds; round += 1) {
    const oursFirst = round % 2 === 0;
    const first = await timed(oursFirst ? ours : theirs, count);
    const second = await timed(oursFirst ? theirs : ours, count);
    if (round >= 0) samples.push(oursFirst ? { ours: first, theirs: second } : { ours: second, theirs: first });
  }
  return {
    ours: median(samples.map((sample) => sample.ours)),
    theirs: median(samples.map((sample) => sample.theirs)),
    ratio: median(samples.map((sample) => sample.ours / sample.theirs)),
  };
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[sorted.length >> 1]!;
}

async function timed(work: Work, count: number): Promise<number> {
  await new Promise((resolve) => setImmediate(resolve));
  const start = process.hrtime.bigint();
  work(count);
  return Number(process.hrtime.bigint() - start) / count;
}
