import { ToolServerError } from "../../errors.js";

/** What the header of a vault says about its key; never the key itself. */
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
  return keyWrong(
    `The vault was created with ${names[recipe.from]}, but ${given} was given.`,
    `Nothing was changed. Use ${names[recipe.from]}, or choose another folder.`,
  );
}
