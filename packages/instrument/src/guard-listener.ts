let hasWarned = false;

/**
 * A listener of a diagnostics channel that never throws: Node would end the process for what it throws. The first failure is a
 * warning that begins with `what`.
 */
export function guardListener<T>(listener: (message: T) => void, what: string): (message: T) => void {
  return (message) => {
    try {
      listener(message);
    } catch (error) {
      warn(what, error);
    }
  };
}

function warn(what: string, error: unknown): void {
  if (hasWarned) return;
  hasWarned = true;
  process.emitWarning(`${what} ${error instanceof Error ? error.message : String(error)}`, {
    type: "WirescopeWarning",
    code: "WIRESCOPE_NOT_SHOWN",
  });
}
