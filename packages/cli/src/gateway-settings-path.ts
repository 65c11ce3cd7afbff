import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import type { Io } from "./io.js";

/** The settings file of the gateway: the named one, or `wirescope/gateway.json` in the configuration folder. */
export function gatewaySettingsPath(named: string | undefined, { env }: Pick<Io, "env">): string {
  if (named !== undefined) return resolve(named);
  const configured = env.XDG_CONFIG_HOME ?? "";
  const base = isAbsolute(configured) ? configured : join(env.HOME || homedir(), ".config");
  return join(base, "wirescope", "gateway.json");
}
