import type { ConnectionInfo } from "../connection-info.js";
import type { Reporter } from "../diagnostics.js";
import { messageOf } from "../errors.js";
import type { Redact } from "../secrets/redactor.js";

/** Calls a function that the program passed. An error of that function breaks nothing. */
export type CallProgram = <Argument>(callback: (argument: Argument) => void, argument: Argument) => void;

/**
 * Reports the first error of each function, in the trace of the connection and as a process warning: most programs do not read the
 * trace, and the bug is theirs.
 */
export function createCallProgram(options: {
  readonly info: ConnectionInfo;
  readonly report: Reporter;
  readonly redact: Redact;
}): CallProgram {
  const { info, report, redact } = options;
  const reported = new WeakSet<object>();
  return (callback, argument) => {
    try {
      callback(argument);
    } catch (error) {
      if (reported.has(callback)) return;
      reported.add(callback);
      const name = callback.name === "" ? "A callback" : `The callback ${callback.name}`;
      const message = redact(`${name} for the server ${JSON.stringify(info.name)} failed: ${messageOf(error)}`, "own");
      report(info, "error", message);
      process.emitWarning(message, { type: "ToolServerWarning", code: "CALLBACK_FAILED" });
    }
  };
}
