import { closeSync, constants, readSync } from "node:fs";
import { open } from "node:fs/promises";
import { resolve } from "node:path";
import { commandLine } from "../../command-line.js";
import { ToolServerError } from "../../errors.js";
import { printableText } from "../../printable-text.js";
import type { Environment } from "../../process/child-environment.js";
import type { SecretRegistry } from "../../secrets/redactor.js";
import { type KeySource, keyBytes, keyWrong, otherSource } from "./key-source.js";
import { systemReason } from "./vault-errors.js";

/** Registers a key as a secret. */
export interface KeyBytesOptions {
  /** The key is added to it, so that it is redacted. */
  readonly secrets?: SecretRegistry;
}

const makeOne = "Generate one with: openssl rand -base64 32";

/** A key of 32 bytes in an environment variable, as base64. It is read when the vault is opened. */
export function keyFromVariable(
  name: string,
  environment: Environment = process.env,
  options: KeyBytesOptions = {},
): KeySource {
  return keyFromBytes("variable", `is read from the variable ${name}`, async () => {
    const value = environment[name]?.trim() ?? "";
    if (value === "") throw keyWrong(`The variable ${name} is not set.`, `It holds the key of the vault. ${makeOne}`);
    options.secrets?.add(value);
    const key = decodeKey(value);
    if (key === undefined) throw keyWrong(`The variable ${name} does not hold 32 bytes in base64.`, makeOne);
    return key;
  });
}

/**
 * A key of 32 bytes in a file, raw or as base64. The file is read when the vault is opened. It must belong to this user and be
 * inaccessible to others; its mode is not corrected, because the file is not ours.
 */
export function keyFromFile(path: string, options: KeyBytesOptions = {}): KeySource {
  const place = resolve(path);
  return keyFromBytes("file", `is read from the file ${place}`, async () => {
    const bytes = await readKeyFile(place);
    const key = bytes.length === keyBytes ? bytes : decodeKey(bytes.toString("latin1"));
    if (key === undefined) throw keyWrong(`The file ${place} holds neither 32 bytes nor their base64.`, makeOne);
    options.secrets?.add(key.toString("base64"));
    return key;
  });
}

const keysOfDescriptors = new Map<number, Buffer>();

/**
 * A key of 32 bytes, raw or as base64, from a file descriptor that this process was started with. The descriptor is closed
 * afterwards, so that no child process can read the key; it is read once per process.
 */
export function keyFromDescriptor(number: string, options: KeyBytesOptions = {}): KeySource {
  const name = `file descriptor ${printableText(number, 20)}`;
  return keyFromBytes("descriptor", `is read from ${name}`, async () => {
    const bytes = readDescriptor(number, name);
    const key = bytes.length === keyBytes ? bytes : decodeKey(bytes.toString("latin1"));
    if (key === undefined) throw keyWrong(`The data from ${name} is neither 32 bytes nor their base64.`, makeOne);
    options.secrets?.add(key.toString("base64"));
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
      const facts = await file.stat();
      if (!facts.isFile() || facts.size > 1024) throw keyWrong(`${path} is not a key file.`, makeOne);
      const us = process.geteuid?.();
      if (us !== undefined && facts.uid !== us) {
        throw keyWrong(
          `The key file ${path} belongs to user ${facts.uid}, and this process runs as user ${us}.`,
          "Change its owner, or run as that user.",
        );
      }
      if (us !== undefined && (facts.mode & 0o077) !== 0) {
        const advice = `Others may know the key. Generate a new one, or restrict its access: chmod 600 ${path}`;
        throw keyWrong(`The key file ${path} can be read by others.`, advice);
      }
      return await file.readFile();
    } finally {
      await file.close();
    }
  } catch (error) {
    if (ToolServerError.is(error)) throw error;
    const problem = (error as NodeJS.ErrnoException).code === "ENOENT" ? "it does not exist" : systemReason(error);
    throw keyWrong(`The key file ${path} cannot be read: ${problem}.`, makeOne, error);
  }
}
