import { readFileSync } from "node:fs";
import {
  type ChannelzConnection,
  type ChannelzPackage,
  type ConnectChannelzOptions,
  channelzPackages,
  connectChannelz,
} from "@wirescope/channelz";
import { parseTarget, type Target } from "@wirescope/channelz/internal";
import type { connectionOptions } from "./connection-options.js";
import { findGateway } from "./gateway-file.js";
import type { Io } from "./io.js";
import { parseDuration } from "./option-values.js";
import type { OptionValues } from "./options.js";
import { UsageError } from "./usage-error.js";

/** The default target: where `npm start` listens. */
const defaultTarget = "127.0.0.1:4690";

/**
 * Connects to the peer that the options and the environment name, else to the running gateway of this user. The gateway gets its
 * token also if they name its address on this machine. Throws a UsageError, or what connectChannelz throws.
 */
export async function connectByOptions(
  values: OptionValues<typeof connectionOptions>,
  env: Io["env"],
): Promise<ChannelzConnection> {
  const named = values.target ?? (env.WIRESCOPE_TARGET || undefined);
  const running = await findGateway(env, ({ channelz }) => named === undefined || isAddressOf(channelz, named));
  const headers = values.header.map(parseHeader);
  const isAuthorized = headers.some(([name]) => name.toLowerCase() === "authorization");
  const options: ConnectChannelzOptions = {
    tls: tlsOf(values),
    token: tokenOf(values, env) ?? (isAuthorized ? undefined : running?.token),
    allowInsecureToken: values["allow-insecure-token"],
    headers,
    package: packageOf(values.package),
    timeoutMs: values.timeout === undefined ? undefined : parseDuration(values.timeout, "--timeout"),
  };
  try {
    // The gateway's own address, not the name by which the user calls it: another process may listen on ::1.
    return connectChannelz(running?.channelz ?? named ?? defaultTarget, options);
  } catch (error) {
    throw error instanceof TypeError ? new UsageError(error.message) : error;
  }
}

function tlsOf(values: OptionValues<typeof connectionOptions>): ConnectChannelzOptions["tls"] {
  const { ca, cert, key, "server-name": serverName } = values;
  if ((cert === undefined) !== (key === undefined)) throw new UsageError("--cert and --key must be used together.");
  if (!values.tls && ca === undefined && cert === undefined && serverName === undefined) return undefined;
  return {
    ...(ca === undefined ? {} : { ca: readFile(ca, "--ca") }),
    ...(cert === undefined ? {} : { cert: readFile(cert, "--cert") }),
    ...(key === undefined ? {} : { key: readFile(key, "--key") }),
    ...(serverName === undefined ? {} : { serverName }),
  };
}

// A token on the command line would be seen by every user of the machine, so there is no option for one.
function tokenOf(values: OptionValues<typeof connectionOptions>, env: Io["env"]): string | undefined {
  const file = values["token-file"];
  if (file === undefined) return env.WIRESCOPE_TOKEN || undefined;
  const token = readFile(file, "--token-file").trim();
  if (token === "") throw new UsageError(`The file ${file} (--token-file) is empty.`);
  return token;
}

function packageOf(name: string | undefined): ChannelzPackage | undefined {
  return channelzPackages.find((known) => known === name);
}

function parseHeader(text: string): [string, string] {
  const colon = text.indexOf(":");
  const name = text.slice(0, Math.max(0, colon)).trim();
  const value = text.slice(colon + 1).trim();
  try {
    new Headers([[name, value]]);
  } catch {
    // The text is not repeated: it may hold a secret.
    throw new UsageError("--header requires a header such as 'name: value' in printable ASCII.");
  }
  return [name, value];
}

function readFile(path: string, option: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const why = error instanceof Error && "code" in error ? ` (${String(error.code)})` : "";
    throw new UsageError(`Cannot read the file ${path} (${option})${why}.`);
  }
}

/**
 * Whether a target that the user names is the address at which a gateway of this machine serves Channelz. Only addresses of the
 * loopback count, because the token of the gateway follows.
 */
export function isAddressOf(gateway: string, named: string): boolean {
  const [own, asked] = [parseTarget(gateway), parseTarget(named)];
  if (own.kind === "unix" || asked.kind === "unix") {
    return own.kind === "unix" && asked.kind === "unix" && own.path === asked.path;
  }
  if (own.port !== asked.port || asked.pathPrefix !== "") return false;
  // A target without a scheme gets that of the gateway; one with a scheme must have the same.
  if (asked.isTls !== undefined && asked.isTls !== (own.isTls ?? false)) return false;
  return isLoopback(own) && (asked.host === own.host || asked.host === "localhost");
}

function isLoopback({ host }: Extract<Target, { readonly kind: "tcp" }>): boolean {
  return host === "localhost" || host === "::1" || /^127\.\d+\.\d+\.\d+$/.test(host);
}
