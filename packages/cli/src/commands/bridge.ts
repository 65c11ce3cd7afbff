import { parseUrl, printableText } from "@wirescope/channelz/internal";
import { commonOptions, parseOptions } from "../options.js";
import { readPem } from "../tool-server/read-pem.js";
import { UsageError } from "../usage-error.js";
import type { Command } from "./command.js";

const options = {
  cert: { type: "string", placeholder: "file", help: "client certificate (PEM), with --key" },
  key: { type: "string", placeholder: "file", help: "private key of the client certificate (PEM)" },
  ca: { type: "string", placeholder: "file", help: "also trust this CA certificate (PEM)" },
  type: {
    type: "string",
    choices: ["http", "sse", "ws"],
    help: "transport; default: http, or ws for a wss:// URL",
  },
  header: {
    type: "string",
    multiple: true,
    placeholder: "'name: value'",
    help: "send this header; $NAME and ${NAME} are replaced by environment variables",
  },
  "allow-insecure-loopback": { type: "boolean", help: "allow http:// and ws:// URLs to localhost" },
  debug: { type: "boolean", help: "log headers, retries and errors to standard error, without secrets" },
  ...commonOptions,
} as const;

/** Runs a stdio server that proxies to a remote server, with a client certificate. */
export const bridgeCommand: Command = {
  name: "bridge",
  summary: "run a stdio server that proxies to a remote server using a client certificate",
  parameters: ["<url>"],
  options,
  notes: [
    "Use it as the command of an entry, because entries have no fields for client certificates:",
    '  {"command": "wirescope", "args": ["bridge", "--cert", "${CLIENT_CERT}", "--key", "${CLIENT_KEY}", "https://…"]}',
    "It speaks MCP on standard input and output and ends at the end of input. If the server is down or loses the session,",
    "the next request reconnects. For a secret header, write $NAME in args and set NAME in env: other users of this",
    "machine can read arguments.",
  ],
  async run(args, io) {
    const { values, positionals } = parseOptions(options, args);
    const [address, ...rest] = positionals;
    if (address === undefined) throw new UsageError("bridge requires <url>.");
    // The extra argument is not repeated: it may be a secret header without its option.
    if (rest.length > 0) throw new UsageError("bridge takes one <url> and no other arguments.");
    if ((values.cert === undefined) !== (values.key === undefined)) {
      throw new UsageError("--cert and --key must be used together.");
    }
    // Loaded late: the commands that read Channelz start without it.
    const { createSecretRegistry, runBridge } = await import("@wirescope/tool-server");
    const { printDebug } = await import("../tool-server/debug-printer.js");
    const { bridgeHeaders } = await import("../tool-server/bridge-headers.js");
    const { redactingIo } = await import("../tool-server/redaction.js");
    const { url, type } = endpointOf(address, values.type, values["allow-insecure-loopback"]);
    const secrets = createSecretRegistry();
    const stopDebugging = values.debug ? printDebug(redactingIo(io, secrets)) : () => {};
    const say = (text: string): void => {
      io.stderr.write(`wirescope bridge: ${printableText(secrets.redact(text))}\n`);
    };
    try {
      await runBridge({
        url,
        type,
        tls: {
          ca: readPem(values.ca, "--ca"),
          certificate: readPem(values.cert, "--cert"),
          key: readPem(values.key, "--key"),
        },
        headers: bridgeHeaders(values.header, io.env),
        variables: io.env,
        secrets,
        input: process.stdin,
        output: process.stdout,
        onProblem: say,
      });
    } finally {
      stopDebugging();
    }
    return 0;
  },
};

function endpointOf(
  address: string,
  given: string | undefined,
  allowsLoopback: boolean,
): { readonly url: URL; readonly type: "http" | "sse" | "ws" } {
  const [, hostAndPort, host = ""] = /^(([\w.-]+|\[[\da-f:.]+\]):\d+)(?:[/?#]|$)/i.exec(address) ?? [];
  if (hostAndPort !== undefined) {
    const [secure, insecure] = given === "ws" ? ["wss", "ws"] : ["https", "http"];
    const local = isLoopback(host) ? `, or ${insecure}://${hostAndPort} with --allow-insecure-loopback` : "";
    // The rest of the URL is not repeated: it may contain a secret.
    throw new UsageError(`The URL has no scheme. Write ${secure}://${hostAndPort}${local}.`);
  }
  const url = parseUrl(address);
  if (url === undefined) throw new UsageError("The URL is not absolute. Write https://host/path.");
  if (url.username !== "" || url.password !== "") {
    throw new UsageError("The URL contains a user name or password. Send them with --header as Authorization.");
  }
  const isWebSocket = url.protocol === "wss:" || url.protocol === "ws:";
  const type = isWebSocket ? "ws" : given === "sse" ? "sse" : "http";
  if (given !== undefined && given !== type)
    throw new UsageError(`--type ${given} does not match the scheme of the URL.`);
  if (url.protocol === "https:" || url.protocol === "wss:") return { url, type };
  const isLocal = (url.protocol === "http:" || isWebSocket) && isLoopback(url.hostname);
  if (isLocal && allowsLoopback) return { url, type };
  const advice = isLocal
    ? "If the server runs on this machine, allow it with --allow-insecure-loopback."
    : "Use https:// or wss://.";
  throw new UsageError(
    `${url.protocol}// URLs are not allowed, because credentials are sent over https and wss only. ${advice}`,
  );
}

function isLoopback(hostname: string): boolean {
  return ["localhost", "127.0.0.1", "[::1]"].includes(hostname);
}
