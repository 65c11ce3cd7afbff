import { readFileSync } from "node:fs";
import {
  type ChannelzConnection,
  type ChannelzPackage,
  type ConnectChannelzOptions,
  channelzPackages,
  connectChannelz,
  mergeSources,
  type OriginSource,
  type Source,
} from "@wirescope/channelz";
import { type CorrectionId, correctSource } from "@wirescope/channelz/corrected";
import { ChannelzError, parseTarget, type Target } from "@wirescope/channelz/internal";
import { commandLine } from "@wirescope/tool-server/internal/command-line";
import type { connectionOptions } from "./connection-options.js";
import { unreadable } from "./file-failure.js";
import { findGateway, type GatewaySearch, type RunningGateway } from "./gateway-file.js";
import type { Io } from "./io.js";
import { parseDuration } from "./option-values.js";
import type { OptionValues } from "./options.js";
import { expandTargets, type NamedTarget } from "./targets.js";
import { UsageError } from "./usage-error.js";

/** The default target: the default address of the gateway. */
const defaultTarget = "127.0.0.1:4690";

/** The processes that a command reads. */
export interface TargetConnections extends AsyncDisposable {
  /** One for each process; the origin is empty if there is only one. */
  readonly parts: readonly (OriginSource & {
    readonly source: ChannelzConnection;
    /** The name that the user gave it, or its address. */
    readonly name: string;
  })[];
  /** The process itself, or all of them as one Source. */
  readonly source: Source;
  /** The corrections of responses so far, with their counts. */
  readonly corrections: ReadonlyMap<CorrectionId, number>;
  /** Notes for the user about the targets, such as a damaged recording. */
  readonly notes: readonly string[];
  /** Closes the connections. */
  close(): Promise<void>;
}

/**
 * Connects to the processes that the options or the environment name, else to the running gateway of this user. The gateway's token
 * is also sent if they name the gateway's address on this machine. Throws a UsageError, or what connectChannelz throws.
 */
export async function connectByOptions(
  values: OptionValues<typeof connectionOptions>,
  search: GatewaySearch,
): Promise<TargetConnections> {
  const { env } = search;
  const timeoutMs = values.timeout === undefined ? undefined : parseDuration(values.timeout, "--timeout");
  const written = values.target.length > 0 ? values.target : env.WIRESCOPE_TARGET ? [env.WIRESCOPE_TARGET] : [];
  const named = await expandTargets(written);
  const targets: readonly (NamedTarget | undefined)[] = named.length > 0 ? named : [undefined];
  // One for each target, because a user may have several gateways.
  const gateways = await Promise.all(
    targets.map(async (each) => {
      if (each !== undefined && isRecording(each)) return undefined;
      const matches = ({ channelz }: RunningGateway): boolean =>
        each === undefined || isAddressOf(channelz, each.target);
      return findGateway(search, { responseMs: timeoutMs, matches, reportsChoice: each === undefined });
    }),
  );
  // Loaded only for recordings, so that other commands start faster.
  const recorded = targets.some((each) => each !== undefined && isRecording(each))
    ? await import("./recorded-target.js")
    : undefined;
  const headers = values.header.map(parseHeader);
  const isAuthorized = headers.some(([name]) => name.toLowerCase() === "authorization");
  const common: ConnectChannelzOptions = {
    tls: tlsOf(values),
    token: tokenOf(values, env),
    allowInsecureToken: values["allow-insecure-token"],
    headers,
    package: packageOf(values.package),
    timeoutMs,
  };
  const corrections = new Map<CorrectionId, number>();
  const notes: string[] = [];
  const corrected = (connection: ChannelzConnection): ChannelzConnection => {
    if (values["no-corrections"]) return connection;
    const source = correctSource(connection, {
      ownConnection: connection.ownConnection,
      onCorrection: ({ id }) => corrections.set(id, (corrections.get(id) ?? 0) + 1),
    });
    return { ...connection, ...source };
  };
  const connect = (target: NamedTarget | undefined, gateway: RunningGateway | undefined): ChannelzConnection => {
    const token = common.token ?? (isAuthorized ? undefined : gateway?.token);
    // The gateway's own address, not the name that the user gave: another process may listen on ::1.
    const address = gateway?.channelz ?? target?.target ?? defaultTarget;
    const connection = connectChannelz(address, { ...common, token, tls: tlsFor(common.tls, target) });
    return gateway !== undefined || target !== undefined ? connection : adviseToStart(connection);
  };
  try {
    const parts = targets.map((target, index) => {
      const source =
        target !== undefined && isRecording(target)
          ? (recorded?.connectRecording(target.target, (note) => notes.push(note)) ?? connect(target, undefined))
          : corrected(connect(target, gateways[index]));
      const name = target?.name ?? source.target;
      return { origin: targets.length === 1 ? "" : name, name, target: source.target, source };
    });
    const close = async (): Promise<void> => {
      await Promise.all(parts.map(({ source }) => source.close()));
    };
    const [first] = parts;
    const source = parts.length === 1 && first !== undefined ? first.source : mergeSources(parts);
    return { parts, source, corrections, notes, close, [Symbol.asyncDispose]: close };
  } catch (error) {
    throw error instanceof TypeError ? new UsageError(error.message) : error;
  }
}

/** The default target is a guess: if nothing responds there, adds advice to the error. */
function adviseToStart(connection: ChannelzConnection): ChannelzConnection {
  const advised =
    <A extends unknown[], R>(read: (...args: A) => Promise<R>) =>
    (...args: A): Promise<R> =>
      read(...args).catch((error: unknown) => {
        if (!ChannelzError.is(error) || error.code !== "PEER_UNAVAILABLE") throw error;
        const advice = `No gateway of this user is running: start one with ${commandLine("up")}, or name a process with --target.`;
        const { code, subject, problem, advice: first } = error;
        throw new ChannelzError(code, { subject, problem, advice: `${first} ${advice}` }, { cause: error });
      });
  return {
    ...connection,
    getTopChannels: advised(connection.getTopChannels),
    getServers: advised(connection.getServers),
    getServer: advised(connection.getServer),
    getServerSockets: advised(connection.getServerSockets),
    getChannel: advised(connection.getChannel),
    getSubchannel: advised(connection.getSubchannel),
    getSocket: advised(connection.getSocket),
  };
}

/** Prints the notes about the targets to standard error. */
export function printNotes({ notes }: Pick<TargetConnections, "notes">, { stderr }: Io): void {
  for (const note of notes) stderr.write(`wirescope: ${note}\n`);
}

function isRecording({ target }: NamedTarget): boolean {
  return target.startsWith("file:");
}

/** A certificate is valid for the DNS name, not for its addresses. */
function tlsFor(tls: ConnectChannelzOptions["tls"], target: NamedTarget | undefined): ConnectChannelzOptions["tls"] {
  if (tls === undefined || target?.hostName === undefined) return tls;
  return { serverName: target.hostName, ...(tls === true ? {} : tls) };
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
    throw unreadable(path, option, error);
  }
}

/**
 * Whether a target is the address at which a gateway on this machine serves Channelz. Only loopback addresses match, because the
 * gateway's token is sent there.
 */
export function isAddressOf(gateway: string, named: string): boolean {
  const [own, given] = [parseTarget(gateway), parseTarget(named)];
  if (own.kind === "unix" || given.kind === "unix") {
    return own.kind === "unix" && given.kind === "unix" && own.path === given.path;
  }
  if (own.port !== given.port || given.pathPrefix !== "") return false;
  // A target without a scheme gets that of the gateway; one with a scheme must have the same.
  if (given.isTls !== undefined && given.isTls !== (own.isTls ?? false)) return false;
  return isLoopback(own) && (given.host === own.host || given.host === "localhost");
}

function isLoopback({ host }: Extract<Target, { readonly kind: "tcp" }>): boolean {
  return host === "localhost" || host === "::1" || /^127\.\d+\.\d+\.\d+$/.test(host);
}
