import type { CallOptions, Connection, SecretRegistry } from "@wirescope/tool-server";
import { redactValue } from "@wirescope/tool-server/internal";
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

/**
 * A connection for people: a secret that the server repeats is taken out of what it says, before any of it is cut to the
 * width of a terminal. Whoever needs what a server said to the letter uses the library.
 */
export function redactingConnection(connection: Connection): Connection {
  const { redact } = connection;
  const cleaned = async <T>(answer: Promise<T>): Promise<T> => redactValue(await answer, redact) as T;
  const heard = (options: CallOptions = {}): CallOptions => {
    const { onProgress } = options;
    if (onProgress === undefined) return options;
    return { ...options, onProgress: (step) => onProgress(redactValue(step, redact) as typeof step) };
  };
  const over: Partial<Connection> = {
    get server() {
      return redactValue(connection.server, redact) as Connection["server"];
    },
    connect: (options) => cleaned(connection.connect(options)),
    listTools: (options) => cleaned(connection.listTools(heard(options))),
    callTool: (params, options) => cleaned(connection.callTool(params, heard(options))),
    listResources: (options) => cleaned(connection.listResources(heard(options))),
    listResourceTemplates: (options) => cleaned(connection.listResourceTemplates(heard(options))),
    readResource: (params, options) => cleaned(connection.readResource(params, heard(options))),
    listPrompts: (options) => cleaned(connection.listPrompts(heard(options))),
    getPrompt: (params, options) => cleaned(connection.getPrompt(params, heard(options))),
    complete: (params, options) => cleaned(connection.complete(params, heard(options))),
  };
  // All else is as it is.
  return Object.create(connection, Object.getOwnPropertyDescriptors(over)) as Connection;
}
