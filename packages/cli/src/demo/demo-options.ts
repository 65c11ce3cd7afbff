import { parseArgs } from "node:util";

/** Where the demonstration listens unless told otherwise. */
export const defaultPort = 4690;

export interface DemoOptions {
  readonly port: number;
  readonly json: boolean;
  readonly help: boolean;
}

/** The help, for those who start the demonstration by the words in `calledAs`. */
export function demoHelp(calledAs: string): string {
  return `Usage: ${calledAs} [options]

Starts a process with a Channelz service on the loopback, and a small RPC server
and its clients as traffic to look at.

Options:
  --port <number>  port of the Channelz service (default ${defaultPort}); 0: a free one
  --json           print one line of JSON on standard output when all is ready
  --help           print this
`;
}

/** Reads the options of the demonstration. Throws a TypeError that a person can act on. */
export function parseDemoOptions(args: readonly string[]): DemoOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      port: { type: "string", default: String(defaultPort) },
      json: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  const port = Number(values.port);
  if (!/^\d+$/.test(values.port) || port > 65_535) {
    throw new TypeError(`--port must be a number from 0 to 65535, not "${values.port}".`);
  }
  return { port, json: values.json, help: values.help };
}
