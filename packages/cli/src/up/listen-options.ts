import { resolve } from "node:path";
import { ChannelzError, type ChannelzErrorCode, parseUrl } from "@wirescope/channelz/internal";
import type { GatewayListenOptions } from "@wirescope/gateway";
import { commandLine } from "@wirescope/tool-server/internal/command-line";
import { findGateway, type RunningGateway } from "../gateway-file.js";
import type { Io } from "../io.js";
import { parsePort } from "../option-values.js";
import type { OptionValues } from "../options.js";
import { pemFileOf } from "../tool-server/read-pem.js";
import { UsageError } from "../usage-error.js";
import { defaultPort, type upOptions } from "./up-options.js";

/** The listen address and access rules from the options. Throws a UsageError. */
export function listenOptionsOf(values: OptionValues<typeof upOptions>): GatewayListenOptions {
  const { host, cert, key, port = String(defaultPort) } = values;
  if ((cert === undefined) !== (key === undefined)) throw new UsageError("--cert and --key must be used together.");
  const ca = pemFileOf(values["client-ca"], "--client-ca");
  const certificate = pemFileOf(cert, "--cert");
  const privateKey = pemFileOf(key, "--key");
  const hasTls = certificate !== undefined && privateKey !== undefined;
  if (ca !== undefined && !hasTls) throw new UsageError("--client-ca requires --cert and --key.");
  if (values["no-token"] && values["token-file"] !== undefined) {
    throw new UsageError("--no-token and --token-file cannot be used together.");
  }
  return {
    port: parsePort(port, "--port"),
    ...(host === undefined ? {} : { host }),
    ...(hasTls ? { tls: { cert: certificate, key: privateKey, ...(ca === undefined ? {} : { ca }) } } : {}),
    ...(values["token-file"] === undefined ? {} : { tokenFile: resolve(values["token-file"]) }),
    ...(values["no-token"] ? { token: false as const } : {}),
    ...(values["allow-host"].length === 0 ? {} : { allowedHosts: values["allow-host"] }),
    ...(values["allow-origin"].length === 0 ? {} : { allowedOrigins: values["allow-origin"].map(originOf) }),
  };
}

function originOf(text: string): string {
  if (parseUrl(text)?.origin === text) return text;
  throw new UsageError(`--allow-origin must be an origin such as https://tools.example.com, not "${text}".`);
}

/** Options for the listen address and access. */
const listening = [
  "port",
  "host",
  "cert",
  "key",
  "client-ca",
  "token-file",
  "no-token",
  "allow-host",
  "allow-origin",
] as const;

/** Throws a UsageError if `--stdio`, which does not listen, is combined with an option for listening, which would have no effect. */
export function assertNoListenOptions(values: OptionValues<typeof upOptions>): void {
  const given = listening.find((name) => {
    const value = values[name];
    return Array.isArray(value) ? value.length > 0 : value !== undefined && value !== false;
  });
  if (given === undefined) return;
  throw new UsageError(`--stdio does not listen, so --${given} has no effect. Remove one of them.`);
}

/** Only the command line can name the option that helps. */
const hints: Partial<Record<ChannelzErrorCode, string>> = {
  LISTEN_FAILED: "Use another port with --port <number>, or a free one with --port 0.",
  LISTEN_EXPOSED: "Options: --cert <file> --key <file> with --token-file <file>, or with --client-ca <file>.",
};

/**
 * What to do if the gateway cannot listen, possibly empty; undefined for any other failure. Another port helps if this one is in use,
 * but not if a certificate is invalid.
 */
export async function listenHint(error: unknown, io: Io): Promise<string | undefined> {
  if (!ChannelzError.is(error)) return undefined;
  const hint = hints[error.code];
  if (error.code !== "LISTEN_FAILED") return hint;
  const { cause } = error;
  const isPort = cause instanceof Error && "code" in cause && ["EADDRINUSE", "EACCES"].includes(String(cause.code));
  if (!isPort) return "";
  const matches = ({ channelz }: RunningGateway): boolean =>
    "port" in cause && channelz.endsWith(`:${String(cause.port)}`);
  try {
    const running = await findGateway(io, { matches });
    if (running === undefined) return hint;
    return `Your gateway is already running there as process ${running.pid}; ${commandLine("tree")} shows its connections. ${hint}`;
  } catch (silence) {
    if (!ChannelzError.is(silence)) throw silence;
    return `${silence.message} ${hint}`;
  }
}
