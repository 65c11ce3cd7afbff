import { realpath } from "node:fs/promises";
import { findGateway, type RunningGateway } from "../gateway-file.js";
import type { Io } from "../io.js";
import { UsageError } from "../usage-error.js";
import type { AdminAtHand, AdminValues } from "./ask-gateway.js";

/**
 * The gateway that a command is about: the one that runs, with `--endpoint`; else where it serves the configuration that is meant, or
 * where there is none here. Undefined where the command is about the configuration alone. `isChange` tells whether the command
 * changes something, for which a gateway that lets every program in is not used.
 *
 * Rejects with a UsageError where none runs that was asked for, and with SERVER_UNREACHABLE or UNAUTHORIZED where it does not
 * answer or does not take its token.
 */
export async function openAdmin(
  values: AdminValues,
  io: Io,
  { isChange }: { readonly isChange: boolean },
): Promise<AdminAtHand | undefined> {
  const running = await findGateway(io.env);
  if (values.endpoint) {
    if (running === undefined)
      throw new UsageError("No gateway of yours runs on this machine. Start one: wirescope up.");
    const given = ownOptions(values)[0];
    if (given !== undefined) {
      throw new UsageError(
        `--endpoint uses the gateway as it was started, so ${given} has no effect. Leave one of them out.`,
      );
    }
  } else if (running === undefined || !(await isMeant(running, values, io, isChange))) return undefined;
  const { askGateway } = await import("./ask-gateway.js");
  return askGateway(running, values, io);
}

/** The options by which a command would do something else than the gateway does. */
function ownOptions({ "plugin-root": root, "env-file": files, vault, trust, profile }: AdminValues): string[] {
  return [
    ...(root === undefined ? [] : ["--plugin-root"]),
    ...(files === undefined || files.length === 0 ? [] : ["--env-file"]),
    ...(profile === undefined ? [] : ["--profile"]),
    ...(vault === undefined ? [] : ["--vault"]),
    ...(trust === true ? ["--trust"] : []),
  ];
}

async function isMeant(running: RunningGateway, values: AdminValues, io: Io, isChange: boolean): Promise<boolean> {
  const { profile = io.env.WIRESCOPE_PROFILE || "default", config } = values;
  if (ownOptions({ ...values, profile: undefined }).length > 0 || profile !== (running.profile ?? "default"))
    return false;
  const { findConfigurationFile } = await import("@wirescope/tool-server");
  const { fileOf } = await import("../tool-server/configuration-input.js");
  const found = config === undefined ? findConfigurationFile(process.cwd()) : fileOf(config);
  const file = await found.then((path) => realpath(path)).catch(() => undefined);
  if (file === undefined) return config === undefined;
  if (isChange && running.adminToken === undefined) return false;
  return running.configurations?.includes(file) ?? false;
}
