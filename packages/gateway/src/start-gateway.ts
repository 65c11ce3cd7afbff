import {
  createSecretRegistry,
  type LoadToolServersOptions,
  type SecretRegistry,
  ToolServerError,
} from "@wirescope/tool-server";
import type { Configuration, Finding } from "@wirescope/tool-server/config";
import { type LoadedToolServers, loadToolServers, usesOAuth } from "@wirescope/tool-server/internal";
import type { Gateway } from "./gateway.js";
import type { GatewayOptions } from "./gateway-options.js";
import { runGateway } from "./run-gateway.js";
import type { GatewayConfiguration } from "./servers/gateway-configuration.js";

/** Which servers a gateway offers, and where it listens. The defaults are those of `wirescope up`. */
export interface StartGatewayOptions
  extends Omit<LoadToolServersOptions, "configurationPath">,
    Omit<GatewayOptions, "configurations" | "secrets" | "onReload" | "reloadFailure"> {
  /**
   * A configuration file, a folder with a `.mcp.json`, a parsed configuration, or several of them. If two have a server of the same
   * name, the first is used.
   */
  readonly configuration: string | Configuration | readonly (string | Configuration)[];
  /** Where secrets are registered, so that no message contains them. Default: a new registry. */
  readonly secrets?: SecretRegistry | undefined;
}

/** A gateway that was started from its configuration. */
export interface StartedGateway extends Omit<Gateway, "reload"> {
  /** What is wrong with the configuration and the environment files, as they were read last. */
  readonly findings: readonly Finding[];
  /** Reads the configuration again and applies it. Servers that did not change keep their connections. Rejects as the start does. */
  reload(): Promise<void>;
}

/**
 * Starts a gateway to the servers of a configuration: one endpoint for clients, with Channelz, health and metrics on the same port. By
 * default it listens on the loopback interface with a new token, available as `token`. An entry runs or connects only if it is trusted:
 * `trust` is `approvals()` by default, so a server that nobody approved appears in no list, and its status says how to approve it.
 *
 * Resolves when it listens; the servers connect meanwhile. Rejects with a ToolServerError (CONFIGURATION_UNREADABLE, or as the vault does)
 * or a ChannelzError (LISTEN_EXPOSED, LISTEN_FAILED, TOKEN_UNUSABLE).
 */
export async function startGateway(options: StartGatewayOptions): Promise<StartedGateway> {
  const { configuration, secrets = createSecretRegistry() } = options;
  const sources = [configuration].flat();
  const all: LoadedToolServers[] = [];
  let findings: readonly Finding[] = [];
  // One vault for all configurations, also after a reload: connections that stay keep using it.
  let vault = options.vault;
  const load = async (): Promise<GatewayConfiguration[]> => {
    const read: LoadedToolServers[] = [];
    for (const source of sources) {
      const one = await loadToolServers(source, secrets, { ...options, vault });
      all.push(one);
      read.push(one);
      if (one.configuration.entries.some(usesOAuth)) vault = one.oauth?.vault ?? vault;
    }
    findings = read.flatMap((one) => [...one.configuration.findings, ...one.envFindings]);
    return read.map(configurationOf);
  };
  const dispose = async (): Promise<void> => {
    await Promise.allSettled(all.map((one) => one.dispose()));
  };
  let reloadFailure: ToolServerError | undefined;
  const reload = async (): Promise<void> => {
    try {
      await gateway.reload(await load());
      reloadFailure = undefined;
    } catch (error) {
      if (ToolServerError.is(error)) reloadFailure = error;
      throw error;
    }
  };
  let gateway: Gateway;
  try {
    gateway = await runGateway({
      ...options,
      configurations: await load(),
      secrets,
      onReload: reload,
      reloadFailure: () => reloadFailure,
    });
  } catch (error) {
    await dispose();
    throw error;
  }
  const close: Gateway["close"] = async (closeOptions) => {
    await gateway.close(closeOptions);
    await dispose();
  };
  return {
    ...gateway,
    get findings() {
      return findings;
    },
    reload,
    close,
    [Symbol.asyncDispose]: () => close(),
  };
}

function configurationOf(loaded: LoadedToolServers): GatewayConfiguration {
  const { configuration, configurationPath, variables, pluginRoot, ca, sandbox, oauth, assertTrusted, trust } = loaded;
  return { configuration, configurationPath, variables, pluginRoot, ca, sandbox, oauth, assertTrusted, trust };
}
