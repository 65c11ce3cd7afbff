import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { SessionStore, StoredSession } from "@wirescope/gateway/internal/page";
import { runtimeFolder } from "../../gateway-file.js";
import type { Io } from "../../io.js";

/** Identifies a gateway before and after a restart. */
export interface SessionScope {
  /** 0 if the gateway gets another port at each start: then no session can be resumed. */
  readonly port: number;
  readonly host: string;
  /** The files of its configuration, as absolute paths. */
  readonly files: readonly string[];
  readonly profile: string;
}

const maxBytes = 64 * 1024;

/**
 * Stores browser sessions in a file that only this user can read, so that an open page keeps working after a restart of the same
 * gateway: same address, configuration and profile. The file contains only hashes of the keys. If it cannot be read or written,
 * browsers need a new link.
 */
export function createSessionStore(env: Io["env"], { port, ...rest }: SessionScope): SessionStore | undefined {
  if (port === 0) return undefined;
  const path = join(runtimeFolder(env), `page-${port}.json`);
  const scope = createHash("sha256").update(JSON.stringify(rest)).digest("base64");
  return {
    read() {
      try {
        const { size, uid } = statSync(path);
        if (size > maxBytes || (process.getuid !== undefined && uid !== process.getuid())) return [];
        const file = JSON.parse(readFileSync(path, "utf8"));
        return file.scope === scope && Array.isArray(file.sessions) ? file.sessions.filter(isSession) : [];
      } catch {
        return [];
      }
    },
    write(sessions) {
      try {
        mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
        rmSync(path, { force: true });
        if (sessions.length > 0) writeFileSync(path, JSON.stringify({ scope, sessions }), { mode: 0o600, flag: "wx" });
      } catch {}
    },
  };
}

function isSession(value: unknown): value is StoredSession {
  const { id, keyHash, rights, until } = (value ?? {}) as Record<string, unknown>;
  const isText = typeof id === "string" && typeof keyHash === "string";
  return isText && (rights === "administrator" || rights === "reader") && typeof until === "number";
}
