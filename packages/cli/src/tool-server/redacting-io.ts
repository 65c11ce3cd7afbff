import type { SecretRegistry } from "@wirescope/tool-server";
import type { Io, Output } from "../io.js";

/**
 * An Io that takes secrets out of what is written. A secret that is written in two pieces is not seen, so who writes has to
 * write whole lines.
 */
export function redactingIo(io: Io, secrets: Pick<SecretRegistry, "redact">): Io {
  return { ...io, stdout: redactingOutput(io.stdout, secrets), stderr: redactingOutput(io.stderr, secrets) };
}

function redactingOutput(output: Output, secrets: Pick<SecretRegistry, "redact">): Output {
  return {
    write: (text) => output.write(secrets.redact(text)),
    get isTTY() {
      return output.isTTY;
    },
    get columns() {
      return output.columns;
    },
  };
}
