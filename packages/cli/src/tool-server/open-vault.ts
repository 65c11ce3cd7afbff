import {
  chooseVault,
  defaultVaultDirectory,
  keyFromEnvironment,
  type SecretRegistry,
  type Vault,
} from "@wirescope/tool-server";
import type { Io } from "../io.js";
import { UsageError } from "../usage-error.js";

const kinds = ["auto", "keychain", "file", "memory"] as const;

/** The vault that the option or the environment names, else the best that can be had. Throws a UsageError for an unknown kind. */
export async function openVault(option: string | undefined, { env }: Io, secrets: SecretRegistry): Promise<Vault> {
  const named = option ?? (env.WIRESCOPE_VAULT || "auto");
  const kind = kinds.find((each) => each === named);
  if (kind === undefined) throw new UsageError(`WIRESCOPE_VAULT is one of ${kinds.join(", ")}, not "${named}".`);
  const key = keyFromEnvironment(env, { secrets });
  return chooseVault({ kind, directory: defaultVaultDirectory(env), secrets, ...(key === undefined ? {} : { key }) });
}
