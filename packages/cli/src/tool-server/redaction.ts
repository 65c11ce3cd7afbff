import type { CallOptions, Connection, SecretRegistry } from "@wirescope/tool-server";
import { redactValue } from "@wirescope/tool-server/internal";
import type { Io, Output } from "../io.js";

/**
 * An Io that redacts secrets in its output. A secret that is written in two pieces is not detected, so callers have to
 * write whole lines. The text of servers is redacted before, by `redactingConnection` and in errors.
 */
export function redactingIo(io: Io, secrets: Pick<SecretRegistry, "redact">): Io {
  return { ...io, stdout: redactingOutput(io.stdout, secrets), stderr: redactingOutput(io.stderr, secrets) };
}

function redactingOutput(output: Output, secrets: Pick<SecretRegistry, "redact">): Output {
  return {
    write: (text) => output.write(secrets.redact(text, "own")),
    get isTTY() {
      return output.isTTY;
    },
    get columns() {
      return output.columns;
    },
  };
}

/**
 * A connection that redacts what certainly is a secret in the responses of the server, before they are truncated to the width of a terminal. A program that
 * needs the exact response uses the library.
 */
export function redactingConnection(connection: Connection): Connection {
  const redact = (text: string): string => connection.redact(text, "result");
  const redacted = async <T>(result: Promise<T>): Promise<T> => redactValue(await result, redact) as T;
  const withRedactedProgress = (options: CallOptions = {}): CallOptions => {
    const { onProgress } = options;
    if (onProgress === undefined) return options;
    return { ...options, onProgress: (step) => onProgress(redactValue(step, redact) as typeof step) };
  };
  const over: Partial<Connection> = {
    get server() {
      return redactValue(connection.server, redact) as Connection["server"];
    },
    connect: (options) => redacted(connection.connect(options)),
    listTools: (options) => redacted(connection.listTools(withRedactedProgress(options))),
    callTool: (params, options) => redacted(connection.callTool(params, withRedactedProgress(options))),
    listResources: (options) => redacted(connection.listResources(withRedactedProgress(options))),
    listResourceTemplates: (options) => redacted(connection.listResourceTemplates(withRedactedProgress(options))),
    readResource: (params, options) => redacted(connection.readResource(params, withRedactedProgress(options))),
    listPrompts: (options) => redacted(connection.listPrompts(withRedactedProgress(options))),
    getPrompt: (params, options) => redacted(connection.getPrompt(params, withRedactedProgress(options))),
    complete: (params, options) => redacted(connection.complete(params, withRedactedProgress(options))),
  };
  return Object.create(connection, Object.getOwnPropertyDescriptors(over)) as Connection;
}
