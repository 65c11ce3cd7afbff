let hasWarned = false;

/**
 * Wraps a diagnostics channel listener so that it never throws, because an error would end the process. Only the first error is
 * emitted as a warning, which starts with `what`.
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
