import { randomBytes } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
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
import { setLoginOptions } from "@wirescope/tool-server/internal/command-line";
import { reasonOf } from "../file-failure.js";
import type { Io } from "../io.js";
import { UsageError } from "../usage-error.js";

/**
 * Whether a key for the encrypted file may be generated if there is neither a keychain nor a key: never, and nothing is stored; after
 * a prompt, and nothing is stored if the user declines ("offer") or the command fails ("ask"); or always.
 */
export type KeyCreation = "never" | "offer" | "ask" | "always";

/**
 * The vault that the option or the environment names, else the most secure one available. Generates a key as `creation` says, unless an
 * encrypted file exists: that needs its own key. If tokens cannot be stored, advice about signing in names the option that generates a
 * key. Throws a UsageError for an unknown kind, and KEYCHAIN_UNAVAILABLE or VAULT_KEY_WRONG if there is no key, but must be one.
 */
export async function openVault(
  option: string | undefined,
  io: Io,
  secrets: SecretRegistry,
  creation: KeyCreation = "never",
): Promise<Vault> {
  const kind = kindOf(option, io);
  const hasKey = userVaultKey(io.env, secrets) !== undefined;
  if (hasKey || kind === "memory" || kind === "keychain") return openKind(kind, io, secrets);
  const vault = kind === "auto" ? await openKind(kind, io, secrets) : undefined;
  if (vault !== undefined && vault.kind !== "memory") return vault;
  const missing = await userVaultKeyMissing(io.env);
  if (missing === undefined && (creation === "always" || (creation !== "never" && (await mayCreate(io))))) {
    await vault?.dispose();
    io.stderr.write(`Generated a key for the encrypted file: ${createVaultKey(io)}\n`);
    return openKind(kind, io, secrets);
  }
  if (vault === undefined || creation === "ask" || creation === "always") throw missing ?? noKey(kind, io, creation);
  if (missing === undefined) setLoginOptions(["--create-vault-key"]);
  return vault;
}

/** Opens the vault without generating a key. Throws a UsageError for an unknown kind. */
export async function openStoredVault(option: string | undefined, io: Io, secrets: SecretRegistry): Promise<Vault> {
  return openKind(kindOf(option, io), io, secrets);
}

function kindOf(option: string | undefined, io: Io): (typeof vaultKinds)[number] {
  const named = option ?? (io.env.WIRESCOPE_VAULT || "auto");
  const kind = vaultKinds.find((each) => each === named);
  if (kind === undefined)
    throw new UsageError(`WIRESCOPE_VAULT must be one of ${vaultKinds.join(", ")}, not "${named}".`);
  return kind;
}

async function openKind(kind: (typeof vaultKinds)[number], io: Io, secrets: SecretRegistry): Promise<Vault> {
  const vault = await openUserVault(kind, io.env, secrets);
  if (vault.kind !== "memory") io.protect?.();
  return vault;
}

/**
 * The vault of a gateway: one that cannot be opened fails when it is used, and is opened when the user has unlocked or repaired it.
 * Throws a UsageError as `openVault` does.
 */
export async function openVaultForGateway(option: string | undefined, io: Io, secrets: SecretRegistry): Promise<Vault> {
  const open = (): Promise<Vault> => openStoredVault(option, io, secrets);
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

async function mayCreate(io: Io): Promise<boolean> {
  if (io.ask === undefined) return false;
  io.stderr.write(
    `There is no keychain and no key, so tokens would be lost when this process ends. They can be stored in an encrypted file, with a new key in ${vaultKeyPath(io.env)}. This protects a copy of either file alone, but not against a program that can read all your files.\n`,
  );
  return /^(?:y|yes)$/i.test((await io.ask("Generate a key and store the tokens? [y/N] ")).trim());
}

/** The error for tokens that cannot be stored, because there is no keychain and no key. */
function noKey(kind: "auto" | "file", io: Io, creation: KeyCreation): ToolServerError {
  const keychain = kind === "auto" ? "no keychain is available, and " : "";
  const isDeclined = creation !== "never" && io.ask !== undefined;
  const how = isDeclined ? "Run the command again and reply y" : "Sign in with the option --create-vault-key";
  return new ToolServerError(kind === "auto" ? "KEYCHAIN_UNAVAILABLE" : "VAULT_KEY_WRONG", {
    problem: `Tokens cannot be stored: ${keychain}there is no key for an encrypted file.`,
    advice: `${how}, which generates a key in ${vaultKeyPath(io.env)}.`,
  });
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
