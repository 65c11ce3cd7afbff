import { describeQuirk, quirkTable } from "../quirk-table.js";
import { startQuirks } from "../start-quirks.js";
import { helpText, type Options, parseOptions, UsageError } from "./options.js";
import { requestLine } from "./request-line.js";

/** All that the command touches of its process. */
export interface CommandIo {
  out(text: string): void;
  err(text: string): void;
  /** Resolves when the servers are to end. */
  readonly interrupted: Promise<unknown>;
}

/** Runs the command wirescope-quirks on these arguments, until it is interrupted, and gives the exit code. Never rejects. */
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

/** Runs the command on the arguments of this process, and leaves its exit code there. */
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
    onRequest: (place, request) => io.err(`${requestLine(place, request)}\n`),
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
      if (quirks.length === 0) io.out("All is well with them: no switch is on.\n");
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
