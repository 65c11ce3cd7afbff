/** A line that says what went wrong, and not where in the program. */
const complaint = /^(?!\s*at\s)[^(]*\b(?:\w*error|\w*exception|fatal|panic|panicked)\b[^:]*:/i;
const stackFrame = /^\s*at\s/;

/**
 * The last lines of an output, at most so many. Where they say nothing of an error and an earlier one does, it is that and what
 * follows it, without the frames of a stack: Node says what is wrong first, and where at length.
 */
export function tellingLines(lines: readonly string[], most: number): readonly string[] {
  const last = lines.slice(-most);
  if (last.some((line) => complaint.test(line))) return last;
  const at = lines.findLastIndex((line) => complaint.test(line));
  if (at === -1) return last;
  return lines
    .slice(at)
    .filter((line) => !stackFrame.test(line))
    .slice(0, most);
}
