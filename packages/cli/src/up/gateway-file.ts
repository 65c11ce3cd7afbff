import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import type { Io } from "../io.js";

/** How a running gateway of this user is reached. */
export interface RunningGateway {
  readonly pid: number;
  readonly endpoint: string;
  /** The target for clients of Channelz. */
  readonly channelz: string;
  readonly token?: string | undefined;
  /** The file that holds the token, where it is one that stays. */
  readonly tokenFile?: string | undefined;
  /** What it takes to change something through its administration. */
  readonly adminToken?: string | undefined;
  /** The configurations that it serves, as absolute paths without links. */
  readonly configurations?: readonly string[] | undefined;
  /** Whose tokens it uses. */
  readonly profile?: string | undefined;
}

/** Where a gateway leaves word of itself, for this user's other commands. */
export function gatewayFile(env: Io["env"]): string {
  const runtime = env.XDG_RUNTIME_DIR ?? "";
  const base = isAbsolute(runtime) ? runtime : join(env.HOME || homedir(), ".local", "state");
  return join(base, "wirescope", "gateway.json");
}

/**
 * Leaves word; returns how to take it back. Only this user may read it. Of several gateways the last counts, and the one before it again
 * once the last has ended. Where it cannot be written, others need options.
 */
export function announceGateway(env: Io["env"], gateway: RunningGateway): () => void {
  const path = gatewayFile(env);
  const before = findGateway(env) === undefined ? undefined : textOf(path);
  const write = (text: string): void => {
    rmSync(path, { force: true });
    writeFileSync(path, text, { mode: 0o600, flag: "wx" });
  };
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    write(`${JSON.stringify(gateway)}\n`);
  } catch {
    return () => {};
  }
  return () => {
    if (readGatewayFile(env)?.pid !== gateway.pid) return;
    try {
      if (before !== undefined && isAlive(JSON.parse(before).pid)) write(before);
      else rmSync(path, { force: true });
    } catch {
      // Who looks for it finds that its process is gone.
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

/** The gateway of this user that runs; undefined where none does. */
export function findGateway(env: Io["env"]): RunningGateway | undefined {
  const found = readGatewayFile(env);
  return found !== undefined && isAlive(found.pid) ? found : undefined;
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
  adminToken,
  configurations,
  profile,
}: Record<string, unknown>): Pick<RunningGateway, "adminToken" | "configurations" | "profile"> {
  return {
    ...(typeof adminToken === "string" ? { adminToken } : {}),
    ...(Array.isArray(configurations) && configurations.every((each) => typeof each === "string")
      ? { configurations }
      : {}),
    ...(typeof profile === "string" ? { profile } : {}),
  };
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}
