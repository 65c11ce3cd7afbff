import { randomBytes } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { printableText } from "@wirescope/channelz/internal";
import { type SecretRegistry, ToolServerError } from "@wirescope/tool-server";
import type { Vault } from "@wirescope/tool-server/auth";
import {
  createUnavailableVault,
  openUserVault,
  userVaultKey,
  userVaultKeyMissing,
  vaultKeyPath,
  vaultKinds,
} from "@wirescope/tool-server/internal";
import { reasonOf } from "../file-failure.js";
import type { Io } from "../io.js";
import { UsageError } from "../usage-error.js";

/** Whether a key for the encrypted file may be generated: never, after a prompt, or always. */
export type KeyCreation = "never" | "ask" | "always";

/**
 * The vault that the option or the environment names, else the most secure one available. If that would be in memory because there is no
 * key, a key is generated as `creation` says, unless an encrypted file exists: that needs its own key. Throws a UsageError for an unknown
 * kind.
 */
export async function openVault(
  option: string | undefined,
  io: Io,
  secrets: SecretRegistry,
  creation: KeyCreation = "never",
): Promise<Vault> {
  const named = option ?? (io.env.WIRESCOPE_VAULT || "auto");
  const kind = vaultKinds.find((each) => each === named);
  if (kind === undefined)
    throw new UsageError(`WIRESCOPE_VAULT must be one of ${vaultKinds.join(", ")}, not "${named}".`);
  const open = async (): Promise<Vault> => {
    const vault = await openUserVault(kind, io.env, secrets);
    if (vault.kind !== "memory") io.protect?.();
    return vault;
  };
  const hasKey = userVaultKey(io.env, secrets) !== undefined;
  if (hasKey || creation === "never" || kind === "memory" || kind === "keychain") return open();
  if (kind === "auto") {
    const vault = await open();
    if (vault.kind !== "memory" || !(await mayCreate(io, creation))) return vault;
    await vault.dispose();
  } else if (!(await mayCreate(io, creation))) return open();
  io.stderr.write(`Generated a key for the encrypted file: ${createVaultKey(io)}\n`);
  return open();
}

/**
 * The vault of a gateway: one that cannot be opened fails when it is used, and is opened when the user has unlocked or repaired it.
 * Throws a UsageError as `openVault` does.
 */
export async function openVaultForGateway(option: string | undefined, io: Io, secrets: SecretRegistry): Promise<Vault> {
  const open = (): Promise<Vault> => openVault(option, io, secrets);
  try {
    return await open();
  } catch (error) {
    if (ToolServerError.is(error)) return createUnavailableVault(error, open);
    throw error;
  }
}

/** Like `openVault`, but if the vault cannot be opened, returns one that fails when it is used, so that servers without OAuth work. */
export async function openVaultForServers(...args: Parameters<typeof openVault>): Promise<Vault> {
  try {
    return await openVault(...args);
  } catch (error) {
    if (ToolServerError.is(error)) return createUnavailableVault(error);
    throw error;
  }
}

async function mayCreate(io: Io, creation: KeyCreation): Promise<boolean> {
  const missing = await userVaultKeyMissing(io.env);
  if (missing !== undefined) {
    if (creation === "always") throw missing;
    io.stderr.write(`wirescope: ${printableText(missing.message)}\n`);
    return false;
  }
  if (creation === "always") return true;
  const path = vaultKeyPath(io.env);
  if (io.ask === undefined) {
    io.stderr.write(
      `wirescope: There is no keychain and no key, so tokens are lost when this process ends. To store them in an encrypted file, with a new key in ${path}, use --create-vault-key.\n`,
    );
    return false;
  }
  io.stderr.write(
    `There is no keychain and no key, so tokens would be lost when this process ends. They can be stored in an encrypted file, with a new key in ${path}. This protects a copy of either file alone, but not against a program that can read all your files.\n`,
  );
  return /^(?:y|yes)$/i.test((await io.ask("Generate a key and store the tokens? [y/N] ")).trim());
}

/** Generates a key that only this user can read. Throws EEXIST if there is one: a new key could not decrypt the stored tokens. */
function createVaultKey(io: Pick<Io, "env">): string {
  const path = vaultKeyPath(io.env);
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeFileSync(path, `${randomBytes(32).toString("base64")}\n`, { flag: "wx", mode: 0o600 });
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "EEXIST") throw error;
    // On a read-only file system Node reports ENOENT for a folder.
    const reason =
      code === "ENOENT" ? "its folder cannot be created; the file system may be read-only." : reasonOf(error);
    throw new UsageError(
      `Cannot write the key for stored tokens, ${path}: ${reason} Give this user write access, or set XDG_CONFIG_HOME to the absolute path of another folder, also for a running gateway.`,
      { cause: error },
    );
  }
  return path;
}
