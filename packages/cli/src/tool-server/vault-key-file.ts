import { randomBytes } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { vaultKeyPath } from "@wirescope/tool-server/internal";
import type { Io } from "../io.js";

/** Generates a key that only this user can read. Throws EEXIST if there is one: a new key would lock out the old tokens. */
export function createVaultKey(io: Pick<Io, "env">): string {
  const path = vaultKeyPath(io.env);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writeFileSync(path, `${randomBytes(32).toString("base64")}\n`, { flag: "wx", mode: 0o600 });
  return path;
}
