import { realpathSync } from "node:fs";
import { findGateway, type RunningGateway } from "../../gateway-file.js";
import type { Io } from "../../io.js";
import type { OptionValues } from "../../options.js";
import type { upOptions } from "../up-options.js";

/** Options that ask for a gateway that a running one need not be. The others say how to start one if none runs. */
const ownOptions = ["standalone", "trust", "allow", "deny", "settings", "audit-file", "debug"] as const;

/**
 * The running gateway of this user that serves exactly these configurations for the same profile; undefined if none does, or if
 * an option asks for another one.
 */
export async function findAttachable(
  files: readonly string[],
  values: OptionValues<typeof upOptions>,
  io: Io,
): Promise<RunningGateway | undefined> {
  const isOwn = ownOptions.some((name) => {
    const value = values[name];
    return Array.isArray(value) ? value.length > 0 : value !== undefined && value !== false;
  });
  const running = isOwn ? undefined : await findGateway(io.env);
  if (running === undefined) return undefined;
  const { profile = io.env.WIRESCOPE_PROFILE || "default" } = values;
  if (profile !== (running.profile ?? "default")) return undefined;
  const served = new Set(running.configurations);
  const asked = new Set(files.map(realPathOf));
  return served.size === asked.size && [...asked].every((file) => served.has(file)) ? running : undefined;
}

function realPathOf(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return file;
  }
}
