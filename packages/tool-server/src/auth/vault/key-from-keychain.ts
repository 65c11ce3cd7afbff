import { randomBytes } from "node:crypto";
import type { SecretRegistry } from "../../secrets/redactor.js";
import { decodeKey } from "./key-from-bytes.js";
import { type KeySource, keyBytes, keyWrong, otherSource } from "./key-source.js";
import { type Keychain, keychainUnavailable, systemKeychain } from "./keychain.js";

export interface KeychainKeyOptions {
  /** Default the one of this system. */
  readonly keychain?: Keychain;
  /** Learns the key, so that it is kept out of text. */
  readonly secrets?: SecretRegistry;
}

/**
 * A random key that rests in the keychain. The tokens themselves do not: keychains cut long items (Windows at 2,560 bytes), write
 * without telling when it is durable, and have no lock.
 */
export function keyFromKeychain(options: KeychainKeyOptions = {}): KeySource {
  const keychain = options.keychain ?? systemKeychain();
  return {
    from: "keychain",
    summary: "rests in the keychain of this user",
    async ready() {
      await keychain.read("vault");
    },
    async create(vaultId) {
      const key = randomBytes(keyBytes);
      const text = key.toString("base64");
      options.secrets?.add(text);
      const account = `vault ${vaultId}`;
      await keychain.write(account, text);
      // A keychain that only seems to keep it would cost every token at the next start.
      if ((await keychain.read(account)) !== text) throw keychainUnavailable("it does not give back what it was given");
      return { recipe: { from: "keychain", account }, key };
    },
    async open(recipe) {
      if (recipe.from !== "keychain") throw otherSource(recipe, "the keychain");
      const text = await keychain.read(recipe.account);
      if (text !== undefined) options.secrets?.add(text);
      const key = text === undefined ? undefined : decodeKey(text);
      if (key !== undefined) return key;
      const problem = text === undefined ? "does not have" : "has something else in place of";
      throw keyWrong(
        `The keychain ${problem} the key of this vault ("wirescope", "${recipe.account}").`,
        "Nothing was changed. Unlock the keychain that was used before or restore it; if it is lost, move the vault's folder away and sign in again.",
      );
    },
  };
}
