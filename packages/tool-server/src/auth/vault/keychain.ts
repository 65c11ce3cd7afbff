import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { ToolServerError } from "../../errors.js";
import type { SecretRegistry } from "../../secrets/redactor.js";
import { decodeKey } from "./key-from-bytes.js";
import { type KeySource, keyBytes, keyWrong, otherSource } from "./key-source.js";

/** The keychain of the user's system, as far as it is needed. Rejects with KEYCHAIN_UNAVAILABLE. */
export interface Keychain {
  /** The secret under this account; undefined where there is none. */
  read(account: string): Promise<string | undefined>;
  write(account: string, secret: string): Promise<void>;
}

/** How the keychain of this system is reached. */
export interface SystemKeychainOptions {
  /** Under which name items stand in the keychain. Default "wirescope". */
  readonly service?: string;
  /** How long an answer may take, in which a person may have to type a password. Default 60,000 ms. */
  readonly timeoutMs?: number;
}

/** The macOS Keychain, the Windows Credential Manager, or the Secret Service of a Linux desktop (GNOME Keyring, KWallet). */
export function systemKeychain(options: SystemKeychainOptions = {}): Keychain {
  const { service = "wirescope", timeoutMs = 60_000 } = options;
  const ask = async <T>(question: (entry: KeychainEntry, signal: AbortSignal) => Promise<T>, account: string) => {
    const { AsyncEntry } = await loadKeyring();
    const signal = AbortSignal.timeout(timeoutMs);
    try {
      // Without the store named, what is asked for falls back to the kernel's keys, which a restart wipes.
      const entry = new AsyncEntry(service, account, { linux: { store: "secret-service" } });
      return await Promise.race([question(entry, signal), rejectionOf(signal)]);
    } catch (error) {
      const reason = signal.aborted
        ? `it did not answer within ${timeoutMs / 1000} s; does it wait for a password?`
        : String(error instanceof Error ? error.message : error);
      throw keychainUnavailable(reason, error);
    }
  };
  return {
    read: async (account) => (await ask((entry, signal) => entry.getPassword(signal), account)) ?? undefined,
    write: (account, secret) => ask((entry, signal) => entry.setPassword(secret, signal), account),
  };
}

type KeychainEntry = InstanceType<Awaited<ReturnType<typeof loadKeyring>>["AsyncEntry"]>;

/** The failure of a machine without a keychain, or with one that is locked. */
export function keychainUnavailable(reason: string, cause?: unknown): ToolServerError {
  const advice =
    process.platform === "linux"
      ? "Start a Secret Service in this session (GNOME Keyring or KWallet) and unlock it"
      : "Unlock the keychain of this user";
  return new ToolServerError(
    "KEYCHAIN_UNAVAILABLE",
    {
      problem: `The keychain cannot be used: ${reason.replace(/\.$/, "")}.`,
      advice: `${advice}, or give a key for an encrypted file, as WIRESCOPE_VAULT_KEY_FILE.`,
    },
    cause === undefined ? undefined : { cause },
  );
}

async function loadKeyring(): Promise<typeof import("@napi-rs/keyring")> {
  if (lacksSessionBus()) throw keychainUnavailable("this session has no D-Bus, over which a Secret Service answers");
  try {
    return await import("@napi-rs/keyring");
  } catch (error) {
    throw keychainUnavailable("the optional package @napi-rs/keyring is not installed for this platform", error);
  }
}

/** Known without the library: on a server, where nothing answers, it would take 10 MB and 25 ms to find out. */
function lacksSessionBus(): boolean {
  const { DBUS_SESSION_BUS_ADDRESS: address, XDG_RUNTIME_DIR: runtime } = process.env;
  if (process.platform !== "linux" || address) return false;
  return !existsSync(join(runtime || `/run/user/${process.getuid?.()}`, "bus"));
}

function rejectionOf(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}

/** The keychain that holds the key. */
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
