import { existsSync } from "node:fs";
import { join } from "node:path";
import { ToolServerError } from "../../errors.js";

/** The keychain of the user's system, as far as it is needed. Rejects with KEYCHAIN_UNAVAILABLE. */
export interface Keychain {
  /** The secret under this account; undefined where there is none. */
  read(account: string): Promise<string | undefined>;
  write(account: string, secret: string): Promise<void>;
}

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
