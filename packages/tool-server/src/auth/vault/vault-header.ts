import { createHmac, createSecretKey, hkdfSync, type KeyObject, randomBytes, timingSafeEqual } from "node:crypto";
import { readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { ToolServerError } from "../../errors.js";
import { writePrivateFile } from "../../files/private-file.js";
import { isJsonObject, parseJsonObject } from "../../json-object.js";
import { type KeyRecipe, type KeySource, keyBytes, keyWrong, parsePassphraseRecipe, rightKeys } from "./key-source.js";
import { asVaultFailure, readPrivateFile, vaultUnreadable, type Warn } from "./private-folder.js";

/** A vault that was opened with its key. */
export interface UnlockedHeader {
  readonly vaultId: string;
  /** Encrypts the entries. */
  readonly entryKey: KeyObject;
  /** The content of the header file. */
  readonly text: string;
}

interface Header {
  readonly vaultId: string;
  readonly recipe: KeyRecipe;
  readonly verifier: string;
}

const format = "wirescope-vault";
const version = 1;

export const entryEnding = ".token";

const headerName = "vault.json";

export function headerPath(folder: string): string {
  return join(folder, headerName);
}

/** Whether a folder with these names is a vault, or may become one. */
export function isVaultFolder(names: readonly string[]): boolean {
  return names.length === 0 || names.includes(headerName);
}

/**
 * Opens the header of a vault; undefined if it does not exist. Rejects with VAULT_KEY_WRONG if the key is wrong, and with
 * VAULT_UNREADABLE if the header is damaged. Changes nothing.
 */
export async function unlockHeader(folder: string, source: KeySource, warn: Warn): Promise<UnlockedHeader | undefined> {
  const path = headerPath(folder);
  const text = await readPrivateFile(path, warn);
  if (text === undefined) return undefined;
  const header = parseHeader(path, text);
  const master = await source.open(header.recipe);
  const keys = deriveKeys(master, header.vaultId);
  const given = Buffer.from(header.verifier, "base64");
  const expected = verifierOf(keys.verifierKey, header);
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) {
    const problem = `The vault ${folder} was not created with this key, which ${source.summary}.`;
    throw keyWrong(problem, `Nothing was changed. ${startAgain(folder, header.recipe)}`);
  }
  return { vaultId: header.vaultId, entryKey: keys.entryKey, text };
}

/**
 * The error for a vault that exists while no key is given; undefined if it does not exist. Rejects with VAULT_UNREADABLE if the header
 * is damaged.
 */
export async function keyMissing(folder: string): Promise<ToolServerError | undefined> {
  const path = headerPath(folder);
  const text = await readPrivateFile(path, () => {});
  if (text === undefined) return undefined;
  const advice = startAgain(folder, parseHeader(path, text).recipe);
  return keyWrong(`Encrypted tokens are in ${folder}, but their key is not set.`, advice);
}

function startAgain(folder: string, recipe: KeyRecipe): string {
  return `${rightKeys[recipe.from]}. If that is lost, move ${folder} away and sign in again.`;
}

/**
 * Writes the header of a new vault. The caller holds the header's lock, and has checked that there is no header. Rejects with
 * VAULT_UNREADABLE if there are entries: they cannot be decrypted with a new header.
 */
export async function createHeader(folder: string, source: KeySource): Promise<UnlockedHeader> {
  const path = headerPath(folder);
  if ((await readdir(folder)).some((name) => name.endsWith(entryEnding))) {
    const advice = `Restore it from a backup, or move ${folder} away and sign in again.`;
    throw vaultUnreadable(path, "is missing, and the entries next to it cannot be read without it", advice);
  }
  const vaultId = randomBytes(16).toString("hex");
  const { recipe, key } = await source.create(vaultId);
  const { verifierKey, entryKey } = deriveKeys(key, vaultId);
  const verifier = verifierOf(verifierKey, { vaultId, recipe }).toString("base64");
  const text = `${JSON.stringify({ format, version, id: vaultId, key: recipe, verifier }, undefined, 2)}\n`;
  await writePrivateFile(path, text).catch((error: unknown) => {
    throw asVaultFailure(path, "written", error);
  });
  return { vaultId, entryKey, text };
}

/** Two keys, so that the verifier on disk reveals nothing about the other. Wipes the master key. */
function deriveKeys(master: Buffer, vaultId: string): { verifierKey: KeyObject; entryKey: KeyObject } {
  const derive = (use: string): KeyObject =>
    createSecretKey(new Uint8Array(hkdfSync("sha256", master, vaultId, `${format} ${version} ${use}`, keyBytes)));
  const keys = { verifierKey: derive("verifier"), entryKey: derive("entries") };
  master.fill(0);
  return keys;
}

/** Authenticates the key and every field of the header. */
function verifierOf(key: KeyObject, { vaultId, recipe }: Omit<Header, "verifier">): Buffer {
  const fields = Object.entries(recipe).sort(([a], [b]) => (a < b ? -1 : 1));
  return createHmac("sha256", key)
    .update(JSON.stringify([format, version, vaultId, fields]))
    .digest();
}

function parseHeader(path: string, text: string): Header {
  const header = parseJsonObject(text);
  const advice = `Restore it from a backup; without one, move ${dirname(path)} away and sign in again.`;
  if (header?.format === format && header.version !== version) {
    throw vaultUnreadable(path, "was written by another version of Wirescope", "Use that version.");
  }
  const recipe = isJsonObject(header?.key) ? parseRecipe(header.key) : undefined;
  const { id, verifier } = header ?? {};
  if (header?.format !== format || typeof id !== "string" || typeof verifier !== "string" || recipe === undefined) {
    throw vaultUnreadable(path, "is damaged, or was written by another program", advice);
  }
  return { vaultId: id, recipe, verifier };
}

function parseRecipe(value: Readonly<Record<string, unknown>>): KeyRecipe | undefined {
  if (value.from === "passphrase") return parsePassphraseRecipe(value);
  if (value.from === "key") return { from: "key" };
  if (value.from === "keychain" && typeof value.account === "string") {
    return { from: "keychain", account: value.account };
  }
  return undefined;
}
