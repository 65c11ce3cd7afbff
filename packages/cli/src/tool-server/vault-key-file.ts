import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import type { Io } from "../io.js";

/** Where the generated key of the encrypted file is: `wirescope/vault.key` in the user's configuration folder. */
export function vaultKeyPath({ env }: Pick<Io, "env">): string {
  const { XDG_CONFIG_HOME: configured = "", HOME: home } = env;
  const base = isAbsolute(configured) ? configured : join(home || homedir(), ".config");
  return join(base, "wirescope", "vault.key");
}

/** The path of the generated key, if there is one. */
export function findVaultKey(io: Pick<Io, "env">): string | undefined {
  const path = vaultKeyPath(io);
  return existsSync(path) ? path : undefined;
}

/** Generates a key that only this user can read. Throws EEXIST if there is one: a new key would lock out the old tokens. */
export function createVaultKey(io: Pick<Io, "env">): string {
  const path = vaultKeyPath(io);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writeFileSync(path, `${randomBytes(32).toString("base64")}\n`, { flag: "wx", mode: 0o600 });
  return path;
}
