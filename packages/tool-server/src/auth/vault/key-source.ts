import { randomBytes, type ScryptOptions, scrypt } from "node:crypto";
import { closeSync, constants, readSync } from "node:fs";
import { open } from "node:fs/promises";
import { resolve } from "node:path";
import { commandLine } from "../../command-line.js";
import { ToolServerError } from "../../errors.js";
import { systemReason } from "../../files/system-reason.js";
import { printableText } from "../../printable-text.js";
import type { Environment } from "../../process/child-environment.js";
import type { SecretRegistry } from "../../secrets/redactor.js";

/** How the key of a vault is obtained, as stored in its header; never the key itself. */
export type KeyRecipe =
  | {
      readonly from: "passphrase";
      readonly kdf: "scrypt";
      readonly N: number;
      readonly r: number;
      readonly p: number;
      readonly salt: string;
    }
  /** 32 bytes from a variable, a file or a descriptor. */
  | { readonly from: "key" }
  /** 32 bytes in the keychain, under this account. */
  | { readonly from: "keychain"; readonly account: string };

/** Where the key of a vault comes from. See `keyFromPassphrase` and its siblings; printing it shows no key. */
export interface KeySource {
  readonly from: "passphrase" | "variable" | "file" | "descriptor" | "keychain";
  /** Where the key comes from, as the end of a sentence that starts with "the key". */
  readonly summary: string;
  /** The file with the key, if it is in one. */
  readonly path?: string;
  /** Rejects if this source is unavailable on this machine; called before a folder is created. */
  ready?(): Promise<void>;
  /** Creates the key of a new vault with this id. */
  create(vaultId: string): Promise<{ readonly recipe: KeyRecipe; readonly key: Buffer }>;
  /** The key of an existing vault. Rejects with VAULT_KEY_WRONG if this source cannot provide it. */
  open(recipe: KeyRecipe): Promise<Buffer>;
}

export const keyBytes = 32;

/** The error for a key that is wrong or unavailable. */
export function keyWrong(problem: string, advice: string, cause?: unknown): ToolServerError {
  return new ToolServerError("VAULT_KEY_WRONG", { problem, advice }, cause === undefined ? undefined : { cause });
}

/** The error for a source of another kind than the vault was created with. */
export function otherSource(recipe: KeyRecipe, given: string): ToolServerError {
  const names = { passphrase: "a passphrase", key: "a key of 32 bytes", keychain: "a key in the keychain" };
  const problem = `The vault was created with ${names[recipe.from]}, but ${given} was given.`;
  return keyWrong(problem, `Nothing was changed. ${rightKeys[recipe.from]}, or choose another folder.`);
}

/** How to provide the key that a vault was created with, as the beginning of a sentence. */
export const rightKeys: Readonly<Record<KeyRecipe["from"], string>> = {
  passphrase: "Set WIRESCOPE_VAULT_PASSPHRASE to the passphrase that the vault was created with",
  key: "Set WIRESCOPE_VAULT_KEY to the key that the vault was created with",
  keychain: "Use the keychain that has the key of the vault",
};

/** How a key is derived from a passphrase. */
export interface PassphraseOptions {
  /** The passphrase is added to it, so that it is redacted. */
  readonly secrets?: SecretRegistry;
  /** scrypt's N for a new vault: a power of two from 2^15 to 2^20. Default 2^17, which takes 128 MiB and a few tenths of a second. */
  readonly cost?: number;
}

type PassphraseRecipe = Extract<KeyRecipe, { from: "passphrase" }>;

const defaultCost = 2 ** 17;
const blockSize = 8;

/** A key that scrypt derives from a passphrase. */
export function keyFromPassphrase(passphrase: string, options: PassphraseOptions = {}): KeySource {
  const cost = options.cost ?? defaultCost;
  if (!isCost(cost)) throw new TypeError("The cost of scrypt is a power of two from 2^15 to 2^20.");
  options.secrets?.add(passphrase);
  const derive = (recipe: PassphraseRecipe): Promise<Buffer> => {
    if (passphrase.trim() === "") throw keyWrong("The passphrase is empty.", "Set the passphrase of this vault.");
    return deriveKey(passphrase, recipe);
  };
  return {
    from: "passphrase",
    summary: "is derived from a passphrase",
    async create() {
      const salt = randomBytes(16).toString("base64");
      const recipe: PassphraseRecipe = { from: "passphrase", kdf: "scrypt", N: cost, r: blockSize, p: 1, salt };
      return { recipe, key: await derive(recipe) };
    },
    async open(recipe) {
      if (recipe.from !== "passphrase") throw otherSource(recipe, "a passphrase");
      return derive(recipe);
    },
  };
}

/** The recipe, if its cost is within our limits: not weak enough to guess a passphrase, not expensive enough to block the machine. */
export function parsePassphraseRecipe(value: Readonly<Record<string, unknown>>): PassphraseRecipe | undefined {
  const { kdf, N, r, p, salt } = value;
  if (kdf !== "scrypt" || typeof N !== "number" || !isCost(N) || r !== blockSize || p !== 1) return undefined;
  if (typeof salt !== "string" || Buffer.from(salt, "base64").length < 16) return undefined;
  return { from: "passphrase", kdf, N, r, p, salt };
}

function isCost(cost: number): boolean {
  return Number.isInteger(Math.log2(cost)) && cost >= 2 ** 15 && cost <= 2 ** 20;
}

function deriveKey(passphrase: string, { N, r, p, salt }: PassphraseRecipe): Promise<Buffer> {
  const options: ScryptOptions = { N, r, p, maxmem: 256 * N * r };
  // The same letters have two encodings, and the system decides which one is typed.
  const text = passphrase.normalize("NFC");
  return new Promise((resolve, reject) => {
    scrypt(text, Buffer.from(salt, "base64"), keyBytes, options, (error, key) => {
      if (error === null) resolve(key);
      else reject(error);
    });
  });
}

/** Registers a key as a secret. */
export interface KeyBytesOptions {
  /** The key is added to it, so that it is redacted. */
  readonly secrets?: SecretRegistry;
}

const generateKey = "Generate one with: openssl rand -base64 32";

/** A key of 32 bytes in an environment variable, as base64. It is read when the vault is opened. */
export function keyFromVariable(
  name: string,
  environment: Environment = process.env,
  options: KeyBytesOptions = {},
): KeySource {
  return keyFromBytes("variable", `is read from the variable ${name}`, async () => {
    const value = environment[name]?.trim() ?? "";
    if (value === "")
      throw keyWrong(`The variable ${name} is not set.`, `It must contain the key of the vault. ${generateKey}`);
    options.secrets?.add(value);
    const key = decodeKey(value);
    if (key === undefined) throw keyWrong(`The variable ${name} does not contain 32 bytes in base64.`, generateKey);
    return key;
  });
}

/**
 * A key of 32 bytes in a file, raw or as base64. The file is read when the vault is opened. It must belong to this user and be
 * inaccessible to others; its mode is not corrected, because the file is not ours.
 */
export function keyFromFile(path: string, options: KeyBytesOptions = {}): KeySource {
  const absolutePath = resolve(path);
  const source = keyFromBytes("file", `is read from the file ${absolutePath}`, async () => {
    const key = keyIn(await readKeyFile(absolutePath), options);
    if (key !== undefined) return key;
    throw keyWrong(`The file ${absolutePath} contains neither 32 bytes nor their base64.`, generateKey);
  });
  return { ...source, path: absolutePath };
}

/** The key in bytes that are the key itself or its base64; undefined if they are neither. */
function keyIn(bytes: Buffer, { secrets }: KeyBytesOptions): Buffer | undefined {
  const key = bytes.length === keyBytes ? bytes : decodeKey(bytes.toString("latin1"));
  if (key !== undefined) secrets?.add(key.toString("base64"));
  return key;
}

const keysOfDescriptors = new Map<number, Buffer>();

/**
 * A key of 32 bytes, raw or as base64, from a file descriptor that this process was started with. The descriptor is closed
 * afterwards, so that no child process can read the key; it is read once per process.
 */
export function keyFromDescriptor(number: string, options: KeyBytesOptions = {}): KeySource {
  const name = `file descriptor ${printableText(number, 20)}`;
  return keyFromBytes("descriptor", `is read from ${name}`, async () => {
    const key = keyIn(readDescriptor(number, name), options);
    if (key === undefined) throw keyWrong(`The data from ${name} is neither 32 bytes nor their base64.`, generateKey);
    // The vault wipes its key when it is closed.
    return Buffer.from(key);
  });
}

function readDescriptor(number: string, name: string): Buffer {
  const descriptor = /^\d{1,6}$/.test(number) ? Number(number) : -1;
  const known = keysOfDescriptors.get(descriptor);
  if (known !== undefined) return known;
  try {
    // Standard output and standard error cannot be read.
    if (descriptor < 0 || descriptor === 1 || descriptor === 2) throw new TypeError("not a file descriptor for a key");
    const buffer = Buffer.alloc(1024);
    let size = 0;
    for (let read = -1; read !== 0 && size < buffer.length; size += read) read = readSome(descriptor, buffer, size);
    if (descriptor > 2) closeSync(descriptor);
    keysOfDescriptors.set(descriptor, buffer.subarray(0, size));
    return buffer.subarray(0, size);
  } catch (error) {
    const advice = `Start the command with it, for example: WIRESCOPE_VAULT_KEY_FD=3 ${commandLine("up")} 3< <(print-the-key)`;
    throw keyWrong(`Cannot read the key of the vault from ${name}.`, advice, error);
  }
}

/** Reads available bytes, and waits if there are none yet: Node makes a pipe at standard input non-blocking. */
function readSome(descriptor: number, buffer: Buffer, at: number): number {
  for (;;) {
    try {
      return readSync(descriptor, buffer, at, buffer.length - at, null);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
    }
  }
}

/** The 32 bytes that a base64 string encodes, in either alphabet. */
export function decodeKey(text: string): Buffer | undefined {
  const trimmed = text.trim();
  if (!/^[\w+/-]{43}=?$/.test(trimmed)) return undefined;
  const key = Buffer.from(trimmed, "base64");
  return key.length === keyBytes ? key : undefined;
}

function keyFromBytes(
  from: "variable" | "file" | "descriptor",
  summary: string,
  read: () => Promise<Buffer>,
): KeySource {
  return {
    from,
    summary,
    async create() {
      return { recipe: { from: "key" }, key: await read() };
    },
    async open(recipe) {
      if (recipe.from !== "key") throw otherSource(recipe, "a key of 32 bytes");
      return read();
    },
  };
}

async function readKeyFile(path: string): Promise<Buffer> {
  try {
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const stats = await file.stat();
      if (!stats.isFile() || stats.size > 1024) throw keyWrong(`${path} is not a key file.`, generateKey);
      const userId = process.geteuid?.();
      if (userId !== undefined && stats.uid !== userId) {
        const problem = `The key file ${path} belongs to user ${stats.uid}, and this process runs as user ${userId}.`;
        throw keyWrong(problem, "Change its owner, or run as that user.");
      }
      if (userId !== undefined && (stats.mode & 0o077) !== 0) {
        const advice = `Other users may know the key. Generate a new one, or restrict access to it: chmod 600 ${path}`;
        throw keyWrong(`The key file ${path} can be read by other users.`, advice);
      }
      return await file.readFile();
    } finally {
      await file.close();
    }
  } catch (error) {
    if (ToolServerError.is(error)) throw error;
    throw keyWrong(`The key file ${path} cannot be read: ${systemReason(error)}.`, generateKey, error);
  }
}
