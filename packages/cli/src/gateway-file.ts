import {
  closeSync,
  constants,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { ChannelzError } from "@wirescope/channelz/internal";
import { commandLine } from "@wirescope/tool-server/internal/command-line";
import { checkProof } from "./gateway-proof.js";
import type { Io } from "./io.js";
import { UsageError } from "./usage-error.js";

/** How to reach a running gateway of this user. */
export interface RunningGateway {
  readonly pid: number;
  readonly endpoint: string;
  /** The target for Channelz clients. */
  readonly channelz: string;
  readonly token?: string | undefined;
  /** The file that contains the token, if the token outlives the gateway. */
  readonly tokenFile?: string | undefined;
  /** The key by which the gateway proves that it wrote the file; see `gateway-proof.ts`. It is never sent. */
  readonly proofKey?: string | undefined;
  /** The token that its administration API requires for changes. */
  readonly adminToken?: string | undefined;
  /** The configurations that it serves, as absolute paths without symbolic links. */
  readonly configurations?: readonly string[] | undefined;
  /** Whose tokens it uses. */
  readonly profile?: string | undefined;
}

/** The path of a configuration without symbolic links, as a gateway announces it. A missing file is unchanged: reading it reports the error. */
export function realPathOf(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return file;
  }
}

/** The folder for files about running gateways of this user. */
export function runtimeFolder(env: Io["env"]): string {
  const runtime = env.XDG_RUNTIME_DIR ?? "";
  const base = isAbsolute(runtime) ? runtime : join(env.HOME || homedir(), ".local", "state");
  return join(base, "wirescope");
}

/** The folder in which running gateways announce themselves to other commands of this user, each in its own file. */
export function gatewayFolder(env: Io["env"]): string {
  return join(runtimeFolder(env), "gateways");
}

/** The file in which the gateway of a process announces itself. */
export function gatewayFile(env: Io["env"], pid: number): string {
  return join(gatewayFolder(env), `${pid}.json`);
}

/**
 * Writes the gateway file, asUsageError only for this user, and returns a function that removes it. Also removes the files of processes
 * that have ended. Throws the file system error if the file cannot be written; other commands then need options.
 */
export function announceGateway(env: Io["env"], gateway: RunningGateway): () => void {
  const path = gatewayFile(env, gateway.pid);
  // More precise than the modification time, which is the same for two files written within a few milliseconds.
  const announcedAt = performance.timeOrigin + performance.now();
  mkdirSync(gatewayFolder(env), { recursive: true, mode: 0o700 });
  removeEnded(env);
  rmSync(path, { force: true });
  try {
    writeFileSync(path, `${JSON.stringify({ ...gateway, announcedAt })}\n`, { mode: 0o600, flag: "wx" });
  } catch (error) {
    // On a full disk an empty file would stay.
    removeIfPossible(path);
    throw error;
  }
  return () => {
    removeIfPossible(path);
    removeEnded(env);
  };
}

/** A gateway that is killed cannot remove its file. */
function removeEnded(env: Io["env"]): void {
  for (const pid of announcedPids(env)) {
    if (!isAlive(pid)) removeIfPossible(gatewayFile(env, pid));
  }
}

/** A file that cannot be removed is ignored once its process has ended. */
function removeIfPossible(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {}
}

export interface FindGatewayOptions {
  /** Whether to consider this gateway. Default: all. */
  readonly matches?: ((gateway: RunningGateway) => boolean | Promise<boolean>) | undefined;
  /** Whether to report which gateway is used if several respond. Default: only if `matches` is not given. */
  readonly reportsChoice?: boolean | undefined;
  /** The response timeout in milliseconds. Default 20,000: on a busy machine a response may take several seconds. */
  readonly responseMs?: number | undefined;
  /** After how many milliseconds to report that the command is waiting. Default 2000. */
  readonly noticeMs?: number | undefined;
}

/** The environment to search, and where to report waiting; default: nowhere. */
export type GatewaySearch = Pick<Io, "env"> & Partial<Pick<Io, "stderr">>;

/**
 * The running gateway of this user that matches; if several do, the one that was started last. Undefined if none is running. A live
 * process id is not enough: both the id and the port may belong to another program by now. Over http the gateway has to prove that it
 * wrote its file; over https its certificate does, when a token is sent. Only matching gateways are contacted. One that does not
 * respond is waited for before another is used, because it may be busy. Rejects with PEER_UNAVAILABLE if gateways match but none
 * responds.
 */
export async function findGateway(
  { env, stderr }: GatewaySearch,
  { matches, reportsChoice = matches === undefined, responseMs = 20_000, noticeMs = 2000 }: FindGatewayOptions = {},
): Promise<RunningGateway | undefined> {
  const candidates: RunningGateway[] = [];
  for (const gateway of readGatewayFiles(env)) {
    if (matches === undefined || (await matches(gateway))) candidates.push(gateway);
  }
  const found = new AbortController();
  const timeout = AbortSignal.timeout(responseMs);
  // In parallel, so that several unresponsive gateways take no longer than one.
  const checks = candidates.map((gateway) => ({
    gateway,
    proof: checkGateway(gateway, AbortSignal.any([timeout, found.signal])),
  }));
  let silentOne: RunningGateway | undefined;
  try {
    for (const { gateway, proof } of checks) {
      const notice = setTimeout(() => {
        stderr?.write(`wirescope: Waiting for the gateway (process ${gateway.pid}) to respond.\n`);
      }, noticeMs);
      const isProven = await proof.finally(() => clearTimeout(notice));
      if (isProven === "silent") silentOne ??= gateway;
      else if (isProven) {
        if (silentOne !== undefined) stderr?.write(`wirescope: ${insteadOf(silentOne, gateway, responseMs)}\n`);
        else if (reportsChoice && (await isOneOfSeveral(checks))) stderr?.write(`wirescope: ${newestOf(gateway)}\n`);
        return gateway;
      }
    }
  } finally {
    found.abort();
  }
  if (silentOne !== undefined) throw silent(silentOne, responseMs);
  return undefined;
}

async function checkGateway({ endpoint, proofKey }: RunningGateway, signal: AbortSignal): Promise<boolean | "silent"> {
  if (endpoint.startsWith("https:")) return true;
  return proofKey !== undefined && checkProof(endpoint, proofKey, signal);
}

/** Milliseconds for the others to respond, once the gateway is found. One that takes longer is not mentioned. */
const othersMs = 250;

/** Whether several gateways responded. */
async function isOneOfSeveral(checks: readonly { readonly proof: Promise<boolean | "silent"> }[]): Promise<boolean> {
  const proven = checks.map(({ proof }) => Promise.race([proof, delay(othersMs, false, { ref: false })]));
  return (await Promise.all(proven)).filter((each) => each === true).length > 1;
}

function newestOf({ pid, endpoint, configurations: [file] = [] }: RunningGateway): string {
  const which = file === undefined ? "" : `, which serves ${file}`;
  return `Several gateways are running. Using the one that was started last: ${new URL(endpoint).origin} (process ${pid})${which}.`;
}

function insteadOf(silentOne: RunningGateway, { pid, endpoint }: RunningGateway, responseMs: number): string {
  return `The gateway that was started last (process ${silentOne.pid}) has not responded for ${responseMs / 1000} s. Using the one at ${new URL(endpoint).origin} (process ${pid}).`;
}

/** The process exists and the port is open. Both may belong to other programs by now, though that is unlikely. */
function silent({ pid, endpoint }: RunningGateway, responseMs: number): ChannelzError {
  const what = `The gateway at ${new URL(endpoint).origin} (process ${pid}) has not responded for ${responseMs / 1000} s: it is suspended (Ctrl-Z), or too busy.`;
  return new ChannelzError(
    "PEER_UNAVAILABLE",
    `${what} Resume it with fg in its terminal, or kill process ${pid} if it is the gateway (kill -9 ${pid}), and start it again: ${commandLine("up")}.`,
  );
}

/** Reports that the gateway does not respond, for commands that can continue without it. Rethrows any other failure. */
export function continueWithout(failure: unknown, { stderr }: Pick<Io, "stderr">): undefined {
  if (!ChannelzError.is(failure, "PEER_UNAVAILABLE")) throw failure;
  stderr.write(`wirescope: ${failure.message} Continuing without it.\n`);
}

/** The running gateway of this user. Rejects with a UsageError if none is running, and as `findGateway` does. */
export async function requireGateway(search: GatewaySearch): Promise<RunningGateway> {
  const running = await findGateway(search);
  if (running !== undefined) return running;
  throw new UsageError(`No gateway is running. Start one: ${commandLine("up")}.`);
}

/** The gateways whose processes are running, the last started first. */
function readGatewayFiles(env: Io["env"]): RunningGateway[] {
  const read = announcedPids(env).flatMap((pid) => (isAlive(pid) ? (readGatewayFile(env, pid) ?? []) : []));
  return read.sort((one, other) => other.announcedAt - one.announcedAt).map(({ gateway }) => gateway);
}

/** The ids of the processes that have a file. */
function announcedPids(env: Io["env"]): number[] {
  try {
    return readdirSync(gatewayFolder(env)).flatMap((name) => {
      const pid = /^([1-9]\d{0,9})\.json$/.exec(name)?.[1];
      return pid === undefined ? [] : [Number(pid)];
    });
  } catch {
    return [];
  }
}

interface Announcement {
  readonly gateway: RunningGateway;
  readonly announcedAt: number;
}

function readGatewayFile(env: Io["env"], pid: number): Announcement | undefined {
  try {
    const read = JSON.parse(readOwnFile(gatewayFile(env, pid)));
    const { endpoint, channelz, token, tokenFile, announcedAt } = read;
    if (read.pid !== pid || typeof endpoint !== "string" || typeof channelz !== "string") return undefined;
    if (typeof announcedAt !== "number") return undefined;
    if (typeof tokenFile === "string") {
      const token = readFileSync(tokenFile, "utf8").trim();
      return { gateway: { pid, endpoint, channelz, tokenFile, token, ...optionalFields(read) }, announcedAt };
    }
    const credential = typeof token === "string" ? { token } : {};
    return { gateway: { pid, endpoint, channelz, ...credential, ...optionalFields(read) }, announcedAt };
  } catch {
    return undefined;
  }
}

/** Throws if the file is a link or belongs to another user: in a shared folder such as /tmp, other users can create it. */
function readOwnFile(path: string): string {
  const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;
  const file = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    const uid = process.getuid?.();
    const stats = fstatSync(file);
    if (!stats.isFile() || (uid !== undefined && stats.uid !== uid))
      throw new TypeError("The file does not belong to this user.");
    return readFileSync(file, "utf8");
  } finally {
    closeSync(file);
  }
}

function optionalFields({
  proofKey,
  adminToken,
  configurations,
  profile,
}: Record<string, unknown>): Pick<RunningGateway, "proofKey" | "adminToken" | "configurations" | "profile"> {
  return {
    ...(typeof proofKey === "string" ? { proofKey } : {}),
    ...(typeof adminToken === "string" ? { adminToken } : {}),
    ...(Array.isArray(configurations) && configurations.every((each) => typeof each === "string")
      ? { configurations }
      : {}),
    ...(typeof profile === "string" ? { profile } : {}),
  };
}

/** Whether a process of this user has this id: one of another user (EPERM) is not our gateway. */
function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
