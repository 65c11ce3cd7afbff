import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { messageOf, ToolServerError } from "../../errors.js";
import type { SecretRegistry } from "../../secrets/redactor.js";
import { decodeKey, type KeySource, keyBytes, keyWrong, otherSource } from "./key-source.js";

/** The keychain of the user's system. Rejects with KEYCHAIN_UNAVAILABLE. */
export interface Keychain {
  /** The secret of this account; undefined if it has none. */
  read(account: string): Promise<string | undefined>;
  write(account: string, secret: string): Promise<void>;
}

/** How the keychain of this system is reached. */
export interface SystemKeychainOptions {
  /** The service name of the items. Default "wirescope". */
  readonly service?: string;
  /** How long to wait for the keychain; a user may have to type a password. Default 60,000 ms. */
  readonly timeoutMs?: number;
}

/** The macOS Keychain, the Windows Credential Manager, or the Secret Service of a Linux desktop (GNOME Keyring, KWallet). */
export function systemKeychain(options: SystemKeychainOptions = {}): Keychain {
  const { service = "wirescope", timeoutMs = 60_000 } = options;
  const access = async <T>(operation: (entry: KeychainEntry, signal: AbortSignal) => Promise<T>, account: string) => {
    const { AsyncEntry } = await loadKeyring();
    const signal = AbortSignal.timeout(timeoutMs);
    try {
      // Without a named store, the library falls back to the kernel keyring, which a restart clears.
      const entry = new AsyncEntry(service, account, { linux: { store: "secret-service" } });
      return await Promise.race([operation(entry, signal), rejectionOf(signal)]);
    } catch (error) {
      const reason = signal.aborted
        ? `no response within ${timeoutMs / 1000} s; it may be waiting for a password`
        : messageOf(error);
      throw keychainUnavailable(reason, error);
    }
  };
  return {
    read: async (account) => (await access((entry, signal) => entry.getPassword(signal), account)) ?? undefined,
    write: (account, secret) => access((entry, signal) => entry.setPassword(secret, signal), account),
  };
}

type KeychainEntry = InstanceType<Awaited<ReturnType<typeof loadKeyring>>["AsyncEntry"]>;

/** The error for a machine without a keychain, or with a locked one. */
export function keychainUnavailable(reason: string, cause?: unknown): ToolServerError {
  const advice =
    process.platform === "linux"
      ? "Start a Secret Service in this session (GNOME Keyring or KWallet) and unlock it"
      : "Unlock the keychain of this user";
  const parts = {
    problem: `The keychain is unavailable: ${reason.replace(/\.$/, "")}.`,
    advice: `${advice}, or set a key for an encrypted file, for example WIRESCOPE_VAULT_KEY_FILE.`,
  };
  return new ToolServerError("KEYCHAIN_UNAVAILABLE", parts, cause === undefined ? undefined : { cause });
}

async function loadKeyring(): Promise<typeof import("@napi-rs/keyring")> {
  if (lacksSessionBus()) throw keychainUnavailable("this session has no D-Bus, which a Secret Service needs");
  try {
    return await import("@napi-rs/keyring");
  } catch (error) {
    throw keychainUnavailable("the optional package @napi-rs/keyring is not installed for this platform", error);
  }
}

/** Known without the library: on a server without D-Bus, it would take 10 MB and 25 ms to find out. */
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
  /** Default: the keychain of this system. */
  readonly keychain?: Keychain;
  /** The key is added to it, so that it is redacted. */
  readonly secrets?: SecretRegistry;
}

/**
 * A random key in the keychain. The tokens themselves are not stored there: keychains truncate long items (Windows at 2,560 bytes),
 * do not report when a write is durable, and have no lock.
 */
export function keyFromKeychain(options: KeychainKeyOptions = {}): KeySource {
  const keychain = options.keychain ?? systemKeychain();
  return {
    from: "keychain",
    summary: "is stored in the keychain of this user",
    async ready() {
      await keychain.read("vault");
    },
    async create(vaultId) {
      const key = randomBytes(keyBytes);
      const text = key.toString("base64");
      options.secrets?.add(text);
      const account = `vault ${vaultId}`;
      await keychain.write(account, text);
      // A keychain that silently drops the key would cost all tokens at the next start.
      if ((await keychain.read(account)) !== text) throw keychainUnavailable("it does not return what was stored");
      return { recipe: { from: "keychain", account }, key };
    },
    async open(recipe) {
      if (recipe.from !== "keychain") throw otherSource(recipe, "the keychain");
      const text = await keychain.read(recipe.account);
      if (text !== undefined) options.secrets?.add(text);
      const key = text === undefined ? undefined : decodeKey(text);
      if (key !== undefined) return key;
      const problem = text === undefined ? "does not have" : "has another value in place of";
      throw keyWrong(
        `The keychain ${problem} the key of this vault ("wirescope", "${recipe.account}").`,
        "Nothing was changed. Unlock or restore the keychain that was used before; if it is lost, move the vault's folder away and sign in again.",
      );
    },
  };
}
