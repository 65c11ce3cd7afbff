import type { LoggedRequest } from "../local-server.js";
import { describeQuirk, quirkTable } from "../quirk-table.js";
import { type QuirksServer, startQuirks } from "../start-quirks.js";
import { helpText, type Options, parseOptions, UsageError } from "./options.js";

/** The parts of the process that the command uses. */
export interface CommandIo {
  out(text: string): void;
  err(text: string): void;
  /** Resolves when the servers must stop. */
  readonly interrupted: Promise<unknown>;
}

/** Runs the command wirescope-quirks with these arguments until it is interrupted. Returns the exit code; never rejects. */
export async function main(argv: readonly string[], io: CommandIo): Promise<number> {
  try {
    const options = parseOptions(argv);
    if (options.kind === "help") io.out(helpText);
    else if (options.kind === "list") io.out(listText(options.isJson));
    else await serve(options, io);
    return 0;
  } catch (error) {
    io.err(`wirescope-quirks: ${error instanceof Error ? error.message : String(error)}\n`);
    return error instanceof UsageError ? 2 : 1;
  }
}

/** Runs the command with the arguments of this process, and sets its exit code. */
export async function runProcess(): Promise<void> {
  const interrupted = new Promise((resolve) => {
    process.once("SIGINT", resolve);
    process.once("SIGTERM", resolve);
  });
  process.exitCode = await main(process.argv.slice(2), {
    out: (text) => void process.stdout.write(text),
    err: (text) => void process.stderr.write(text),
    interrupted,
  });
}

async function serve(options: Options & { readonly kind: "serve" }, io: CommandIo): Promise<void> {
  const servers = await startQuirks({
    ...options,
    onRequest: (server, request) => io.err(`${requestLine(server, request)}\n`),
  });
  try {
    const { url } = servers.tool;
    const { issuer } = servers.authorization;
    const { quirks } = options;
    if (options.isJson) io.out(`${JSON.stringify({ url, issuer, quirks })}\n`);
    else {
      io.out(`Point a client at     ${url}\n`);
      io.out(`Authorization server  ${issuer}\n`);
      for (const quirk of quirks) {
        const { what, client } = describeQuirk(quirk);
        io.out(`${quirk}: ${what} A good client ${client}\n`);
      }
      if (quirks.length === 0) io.out("No switch is on: both servers follow the specifications.\n");
    }
    await io.interrupted;
  } finally {
    await servers.close();
  }
}

function listText(isJson: boolean): string {
  if (isJson) return `${JSON.stringify(quirkTable)}\n`;
  const rows = Object.entries(quirkTable);
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, { what }]) => `${name.padEnd(width)}  ${what}\n`).join("");
}

/** Parameters whose values are logged; all others are logged by name only. */
const shown = ["grant_type", "scope", "resource", "response_type", "redirect_uri", "token_type_hint"];

/** One log line per request, without secrets. */
function requestLine(server: QuirksServer, request: LoggedRequest): string {
  const { method, path, query, form, json, headers } = request;
  const parameters = [...query, ...form].map(([name, value]) => (shown.includes(name) ? `${name}=${value}` : name));
  const credential = headers.authorization?.split(" ", 1)[0];
  const rpcMethod = typeof json.method === "string" ? json.method : undefined;
  const details = [rpcMethod, credential && `Authorization: ${credential} …`, ...parameters].filter(Boolean).join(", ");
  return printable(`${server}: ${method} ${path}${details === "" ? "" : `  ${details}`}`);
}

function printable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a client may send them, and a terminal would act on them.
  return text.replace(/[\u0000-\u001f\u007f-\u009f]/g, "?").slice(0, 500);
}
