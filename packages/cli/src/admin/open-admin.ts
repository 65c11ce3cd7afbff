import { realpath } from "node:fs/promises";
import { continueWithout, findGateway, type RunningGateway, requireGateway } from "../gateway-file.js";
import type { Io } from "../io.js";
import type { OptionValues } from "../options.js";
import type { KeyCreation } from "../tool-server/open-vault.js";
import type { serverOptions } from "../tool-server/server-options.js";
import { UsageError } from "../usage-error.js";
import type { GatewayAdmin } from "./connect-to-gateway.js";
import type { ServerAdmin } from "./server-admin.js";

export interface OpenAdminOptions {
  /** Whether the command changes something: then a gateway without an administrator's token is not used. */
  readonly isChange: boolean;
  /** Whether the command requires a running gateway. Default false. */
  readonly needsGateway?: boolean | undefined;
  /** Whether a key for the encrypted file may be generated, if this process uses the configuration itself. */
  readonly keyCreation?: KeyCreation | undefined;
}

/**
 * The servers that a command works on. Those of the running gateway with `--endpoint`, if it serves the selected configuration, or
 * if there is no configuration here; else those of the configuration, in this process.
 *
 * Rejects with a UsageError if the requested gateway is not running, with PEER_UNAVAILABLE or SERVER_UNREACHABLE if it does not
 * respond, and with UNAUTHORIZED if it does not accept its token.
 */
export async function openAdmin(
  values: OptionValues<typeof serverOptions>,
  io: Io,
  options: OpenAdminOptions,
): Promise<ServerAdmin> {
  const gateway = await openGateway(values, io, options);
  if (gateway !== undefined) {
    const { createRemoteAdmin } = await import("./remote-admin.js");
    return createRemoteAdmin(gateway, io);
  }
  const { createLocalAdmin } = await import("./local-admin.js");
  return createLocalAdmin(values, io, options.keyCreation);
}

/** The running gateway, if it serves the servers that the options select; else undefined. Rejects as `openAdmin` does. */
export async function openGateway(
  values: OptionValues<typeof serverOptions>,
  io: Io,
  options: OpenAdminOptions,
): Promise<GatewayAdmin | undefined> {
  const running = await findRunningGateway(values, io, options);
  if (running === undefined) return undefined;
  const { connectToGateway } = await import("./connect-to-gateway.js");
  const gateway = await connectToGateway(running, values, io);
  if (gateway !== undefined && !values.endpoint && !options.needsGateway) {
    const [file] = running.configurations ?? [];
    const which = file === undefined ? "" : `, which serves ${file}`;
    io.stderr.write(`wirescope: Using the gateway at ${gateway.url} (process ${running.pid})${which}.\n`);
  }
  return gateway;
}

type Selection = Partial<OptionValues<typeof serverOptions>>;

/** The running gateway with `--endpoint`, if it serves the selected configuration, or if there is no configuration here. */
export async function findRunningGateway(
  values: Selection,
  io: Io,
  { isChange, needsGateway = false, keyCreation }: OpenAdminOptions,
): Promise<RunningGateway | undefined> {
  const find = (): Promise<RunningGateway | undefined> =>
    findGateway(io, { matches: (gateway) => matchesOptions(gateway, values, io, isChange) });
  // A key is for the vault of this user. A gateway generates none, and keeps the one that it has.
  const createsKey = keyCreation === "always";
  const findIfUsed = async (): Promise<RunningGateway | undefined> => {
    if (createsKey) return undefined;
    return needsGateway ? find() : find().catch((error) => continueWithout(error, io));
  };
  const running = await (values.endpoint ? requireGateway(io) : findIfUsed());
  if (values.endpoint) {
    const given = createsKey ? "--create-vault-key" : ownOptions(values)[0];
    if (given !== undefined) {
      throw new UsageError(
        `--endpoint uses the gateway as it was started, so ${given} has no effect. Remove one of them.`,
      );
    }
  }
  return running;
}

/** The given options that may differ from those of the gateway. */
function ownOptions(values: Selection): string[] {
  const { "plugin-root": root, "env-file": files, vault, trust, profile } = values;
  return [
    ...(root === undefined ? [] : ["--plugin-root"]),
    ...(files === undefined || files.length === 0 ? [] : ["--env-file"]),
    ...(profile === undefined ? [] : ["--profile"]),
    ...(vault === undefined ? [] : ["--vault"]),
    ...(trust === true ? ["--trust"] : []),
  ];
}

async function matchesOptions(running: RunningGateway, values: Selection, io: Io, isChange: boolean): Promise<boolean> {
  const { profile = io.env.WIRESCOPE_PROFILE || "default", config } = values;
  if (ownOptions({ ...values, profile: undefined }).length > 0 || profile !== (running.profile ?? "default"))
    return false;
  const { findConfigurationFile } = await import("@wirescope/tool-server/config");
  const { configurationFileAt } = await import("@wirescope/tool-server/internal");
  const found = config === undefined ? findConfigurationFile(process.cwd()) : configurationFileAt(config);
  const file = await found.then((path) => realpath(path)).catch(() => undefined);
  if (file === undefined) return config === undefined;
  if (isChange && running.adminToken === undefined) return false;
  return running.configurations?.includes(file) ?? false;
}
