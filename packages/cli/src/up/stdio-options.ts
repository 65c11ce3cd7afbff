import type { OptionValues } from "../options.js";
import { UsageError } from "../usage-error.js";
import type { upOptions } from "./up-options.js";

/** Options that say where to listen, and to whom. */
const listening = [
  "port",
  "host",
  "cert",
  "key",
  "client-ca",
  "token-file",
  "no-token",
  "allow-host",
  "allow-origin",
] as const;

/** Throws a UsageError where `--stdio`, which listens nowhere, meets an option for listening: it would protect or open nothing. */
export function assertNothingToListenTo(values: OptionValues<typeof upOptions>): void {
  const given = listening.find((name) => {
    const value = values[name];
    return Array.isArray(value) ? value.length > 0 : value !== undefined && value !== false;
  });
  if (given === undefined) return;
  throw new UsageError(`--stdio does not listen, so --${given} has no effect. Remove one of them.`);
}
