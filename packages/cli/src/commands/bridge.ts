import { parseUrl, printableText } from "@wirescope/channelz/internal";
import { commonOptions, parseOptions } from "../options.js";
import { readPem } from "../tool-server/read-pem.js";
import { UsageError } from "../usage-error.js";
import type { Command } from "./command.js";

const options = {
  cert: { type: "string", placeholder: "file", help: "client certificate (PEM), with --key" },
  key: { type: "string", placeholder: "file", help: "private key of the client certificate (PEM)" },
  ca: { type: "string", placeholder: "file", help: "trust this authority (PEM) besides the usual ones" },
  type: {
    type: "string",
    choices: ["http", "sse", "ws"],
    help: "the kind of server; default: http, or ws for a wss url",
  },
  header: {
    type: "string",
    multiple: true,
    placeholder: "'name: value'",
    help: "send this header; $NAME and ${NAME} in it are taken from the environment",
  },
  "allow-insecure-loopback": { type: "boolean", help: "accept http and ws to this machine" },
  debug: { type: "boolean", help: "tell on standard error what happens; no secrets" },
  ...commonOptions,
} as const;

/** Is a stdio server that leads to one behind mutual TLS. */
export const bridgeCommand: Command = {
  name: "bridge",
  summary: "run a stdio server that proxies to a remote server using a client certificate",
  parameters: ["<url>"],
  options,
  notes: [
    "Name it as the command of an entry, which has no fields for certificates of its own:",
    '  {"command": "wirescope", "args": ["bridge", "--cert", "${CLIENT_CERT}", "--key", "${CLIENT_KEY}", "https://…"]}',
    "It speaks the protocol on standard input and output, and ends when its input does. A server that is away, or forgets",
    "the session, is tried again with the next request. For a header that is secret, write $NAME into the args and give NAME",
    "in env: others on this machine can read arguments.",
  ],
  async run(args, io) {
    const { values, positionals } = parseOptions(options, args);
    const [address, ...rest] = positionals;
    if (address === undefined) throw new UsageError("bridge needs <url>.");
    // What was given too much is not repeated: it may be a header that lost its option.
    if (rest.length > 0) throw new UsageError("bridge takes one <url>, and no more arguments.");
    if ((values.cert === undefined) !== (values.key === undefined)) {
      throw new UsageError("--cert and --key go together.");
    }
    // Loaded late: the commands that read Channelz start without it.
    const { channelPrefix, createSecretRegistry, runBridge } = await import("@wirescope/tool-server");
    const { printDebug } = await import("../tool-server/debug-printer.js");
    const { bridgeHeaders } = await import("../tool-server/bridge-headers.js");
    const { redactingIo } = await import("../tool-server/redacting-io.js");
    const { url, type } = endpointOf(address, values.type, values["allow-insecure-loopback"]);
    const secrets = createSecretRegistry();
    const stopDebugging = values.debug ? printDebug(redactingIo(io, secrets), channelPrefix) : () => {};
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
  const url = parseUrl(address);
  if (url === undefined) throw new UsageError("The url is not an absolute URL. Write https://host/path.");
  if (url.username !== "" || url.password !== "") {
    throw new UsageError("The url has a user name or password in it. Send them with --header, as Authorization.");
  }
  const isWebSocket = url.protocol === "wss:" || url.protocol === "ws:";
  const type = isWebSocket ? "ws" : given === "sse" ? "sse" : "http";
  if (given !== undefined && given !== type) throw new UsageError(`A server of type ${given} has another kind of url.`);
  const isLoopback = ["localhost", "127.0.0.1", "[::1]"].includes(url.hostname);
  if (url.protocol === "https:" || url.protocol === "wss:") return { url, type };
  if ((url.protocol === "http:" || isWebSocket) && isLoopback && allowsLoopback) return { url, type };
  throw new UsageError(`The url is of ${url.protocol.slice(0, -1)}, and credentials go over https and wss alone.`);
}
