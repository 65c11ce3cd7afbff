/** Makes lines of pieces. */
export interface LineSplitter {
  push(chunk: Buffer): void;
}

/** `onLine` gets each line, or undefined in place of one that is longer than that. */
export function createLineSplitter(limitBytes: number, onLine: (line: string | undefined) => void): LineSplitter {
  let rest: Buffer[] = [];
  let size = 0;
  let isTooLong = false;
  const keep = (piece: Buffer): void => {
    size += piece.length;
    isTooLong ||= size > limitBytes;
    if (isTooLong) rest = [];
    else rest.push(piece);
  };
  return {
    push(chunk) {
      let from = 0;
      for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, from)) {
        keep(chunk.subarray(from, at));
        const line = isTooLong ? undefined : Buffer.concat(rest).toString("utf8");
        rest = [];
        size = 0;
        isTooLong = false;
        from = at + 1;
        onLine(line);
      }
      if (from < chunk.length) keep(chunk.subarray(from));
    },
  };
}
