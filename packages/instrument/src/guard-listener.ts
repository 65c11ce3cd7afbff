let hasWarned = false;

/**
 * Wraps a listener of a diagnostics channel so that it never throws, because Node would end the process. The first failure is
 * emitted as a warning that starts with `what`.
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
