/** The sources that have emitted a warning. */
const warned = new Set<string>();

/**
 * Wraps an observer's function that Node or a library calls so that it never throws, because an error would end the process or
 * break a request. Only the first error of each `what` is emitted as a warning, which starts with it; the function then returns undefined.
 */
export function guardListener<A extends unknown[], R>(
  listener: (...args: A) => R,
  what: string,
): (...args: A) => R | undefined {
  return (...args) => {
    try {
      return listener(...args);
    } catch (error) {
      warn(what, error);
      return undefined;
    }
  };
}

/** Like `guardListener`, for `node:http` and `node:http2`. */
export function guardNode<A extends unknown[], R>(observe: (...args: A) => R): (...args: A) => R | undefined {
  return guardListener(
    observe,
    "A connection, request or server is not shown completely in Channelz; it works as before. Report this message with your Node version.",
  );
}

function warn(what: string, error: unknown): void {
  if (warned.has(what)) return;
  warned.add(what);
  process.emitWarning(`${what} ${error instanceof Error ? error.message : String(error)}`, {
    type: "WirescopeWarning",
    code: "WIRESCOPE_NOT_SHOWN",
  });
}
