import { mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import { ChannelzError } from "@wirescope/channelz/internal";
import { commandLine } from "@wirescope/tool-server/internal/command-line";
import { checkProof } from "./gateway-proof.js";
import type { Io } from "./io.js";
import { UsageError } from "./usage-error.js";

/** How a running gateway of this user is reached. */
export interface RunningGateway {
  readonly pid: number;
  readonly endpoint: string;
  /** The target for clients of Channelz. */
  readonly channelz: string;
  readonly token?: string | undefined;
  /** The file that holds the token, if it is one that stays. */
  readonly tokenFile?: string | undefined;
  /** By this key it proves that it wrote the file; see `gateway-proof.ts`. It is never sent. */
  readonly proofKey?: string | undefined;
  /** The token that is required to change something through its administration. */
  readonly adminToken?: string | undefined;
  /** The configurations that it serves, as absolute paths without links. */
  readonly configurations?: readonly string[] | undefined;
  /** Whose tokens it uses. */
  readonly profile?: string | undefined;
}

/** The path of a configuration without links, as a gateway announces it; unchanged if the file cannot be found: its reader reports that. */
export function realPathOf(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return file;
  }
}

/** The file in which a running gateway announces itself to other commands of this user. */
export function gatewayFile(env: Io["env"]): string {
  const runtime = env.XDG_RUNTIME_DIR ?? "";
  const base = isAbsolute(runtime) ? runtime : join(env.HOME || homedir(), ".local", "state");
  return join(base, "wirescope", "gateway.json");
}

/**
 * Writes the gateway file; returns how to remove it. Only this user can read it. The last of several gateways is used, and the one before it again
 * once the last has ended. Returns undefined if it cannot be written: then other commands need options.
 */
export function announceGateway(env: Io["env"], gateway: RunningGateway): (() => void) | undefined {
  const path = gatewayFile(env);
  const earlier = readGatewayFile(env);
  const before = earlier !== undefined && isAlive(earlier.pid) ? textOf(path) : undefined;
  const write = (text: string): void => {
    rmSync(path, { force: true });
    writeFileSync(path, text, { mode: 0o600, flag: "wx" });
  };
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    write(`${JSON.stringify(gateway)}\n`);
  } catch {
    return undefined;
  }
  return () => {
    if (readGatewayFile(env)?.pid !== gateway.pid) return;
    try {
      if (before !== undefined && isAlive(JSON.parse(before).pid)) write(before);
      else rmSync(path, { force: true });
    } catch {
      // A command that reads it notices that the process has ended.
    }
  };
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

export interface FindGatewayOptions {
  /** Whether the caller means this gateway. Default: yes. */
  readonly isMeant?: ((gateway: RunningGateway) => boolean | Promise<boolean>) | undefined;
  /** How long it may take to respond, in milliseconds. Default 20,000: on a busy machine it may take several seconds. */
  readonly responseMs?: number | undefined;
  /** After how many milliseconds the user learns what the command waits for. Default 2000. */
  readonly noticeMs?: number | undefined;
}

/** Where a gateway is looked for, and where to say that it takes long; default: nowhere. */
export type GatewaySearch = Pick<Io, "env"> & Partial<Pick<Io, "stderr">>;

/**
 * The running gateway of this user; undefined if none is running. A process with its id is not enough: both the id and the
 * port may belong to another program by now. Over http the gateway has to prove itself; over https its certificate does, when
 * a token is sent. One that the caller does not mean is not asked. Rejects with PEER_UNAVAILABLE if it does not respond.
 */
export async function findGateway(
  { env, stderr }: GatewaySearch,
  { isMeant = () => true, responseMs = 20_000, noticeMs = 2000 }: FindGatewayOptions = {},
): Promise<RunningGateway | undefined> {
  const found = readGatewayFile(env);
  if (found === undefined || !isAlive(found.pid) || !(await isMeant(found))) return undefined;
  const { pid, endpoint, proofKey } = found;
  if (endpoint.startsWith("https:")) return found;
  if (proofKey === undefined) return undefined;
  const notice = setTimeout(() => {
    stderr?.write(`wirescope: Waiting for the gateway (process ${pid}) to respond.\n`);
  }, noticeMs);
  const isProven = await checkProof(endpoint, proofKey, responseMs).finally(() => clearTimeout(notice));
  if (isProven === "silent") throw silent(found, responseMs);
  return isProven ? found : undefined;
}

/** Its process is there and its port is open. Both may belong to other programs by now, though that is unlikely. */
function silent({ pid, endpoint }: RunningGateway, responseMs: number): ChannelzError {
  const what = `The gateway at ${new URL(endpoint).origin} (process ${pid}) has not responded for ${responseMs / 1000} s: it is suspended (Ctrl-Z), or too busy.`;
  return new ChannelzError(
    "PEER_UNAVAILABLE",
    `${what} Continue it with fg in its terminal, or end process ${pid} if that is the gateway (kill -9 ${pid}), and start it again: ${commandLine("up")}.`,
  );
}

/** For commands that can do without a gateway that does not respond: says so. Rethrows any other failure. */
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

function readGatewayFile(env: Io["env"]): RunningGateway | undefined {
  try {
    const read = JSON.parse(readFileSync(gatewayFile(env), "utf8"));
    const { pid, endpoint, channelz, token, tokenFile } = read;
    if (!Number.isSafeInteger(pid) || typeof endpoint !== "string" || typeof channelz !== "string") return undefined;
    if (typeof tokenFile === "string") {
      const token = readFileSync(tokenFile, "utf8").trim();
      return { pid, endpoint, channelz, tokenFile, token, ...servedBy(read) };
    }
    return { pid, endpoint, channelz, ...(typeof token === "string" ? { token } : {}), ...servedBy(read) };
  } catch {
    return undefined;
  }
}

function servedBy({
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
