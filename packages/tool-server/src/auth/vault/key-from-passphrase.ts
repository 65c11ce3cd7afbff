import { randomBytes, type ScryptOptions, scrypt } from "node:crypto";
import type { SecretRegistry } from "../../secrets/redactor.js";
import { type KeyRecipe, type KeySource, keyBytes, keyWrong, otherSource } from "./key-source.js";

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
