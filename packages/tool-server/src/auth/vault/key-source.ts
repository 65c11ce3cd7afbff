import { ToolServerError } from "../../errors.js";

/** What the header of a vault says of its key; never the key. */
export type KeyRecipe =
  | {
      readonly from: "passphrase";
      readonly kdf: "scrypt";
      readonly N: number;
      readonly r: number;
      readonly p: number;
      readonly salt: string;
    }
  /** 32 bytes that a variable, a file or a descriptor holds. */
  | { readonly from: "key" }
  /** 32 bytes that rest in the keychain under this account. */
  | { readonly from: "keychain"; readonly account: string };

/** Where the key of a vault comes from. Made by `keyFromPassphrase` and its siblings; shows no key when it is printed. */
export interface KeySource {
  readonly from: "passphrase" | "variable" | "file" | "descriptor" | "keychain";
  /** Where the key comes from, as the end of a sentence that begins with "the key". */
  readonly summary: string;
  /** Rejects where this source cannot be used here at all; asked before a folder is made. */
  ready?(): Promise<void>;
  /** Sets up a new vault with this id. */
  create(vaultId: string): Promise<{ readonly recipe: KeyRecipe; readonly key: Buffer }>;
  /** The key of a vault that was set up so. Rejects with VAULT_KEY_WRONG where this source cannot have it. */
  open(recipe: KeyRecipe): Promise<Buffer>;
}

export const keyBytes = 32;

/** The failure of a key that does not fit, or cannot be had. */
export function keyWrong(problem: string, advice: string, cause?: unknown): ToolServerError {
  return new ToolServerError("VAULT_KEY_WRONG", { problem, advice }, cause === undefined ? undefined : { cause });
}

/** The failure of a source that is not of the kind that the vault was set up with. */
export function otherSource(recipe: KeyRecipe, given: string): ToolServerError {
  const names = { passphrase: "a passphrase", key: "a key of 32 bytes", keychain: "a key in the keychain" };
  return keyWrong(
    `The vault was set up with ${names[recipe.from]}, and ${given} was given.`,
    `Nothing was changed. Give ${names[recipe.from]}, or choose another folder.`,
  );
}
