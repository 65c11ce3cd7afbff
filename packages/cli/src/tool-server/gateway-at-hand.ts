import { createSecretRegistry } from "@wirescope/tool-server";
import { createConfiguration, type Variables } from "@wirescope/tool-server/config";
import { requireGateway } from "../gateway-file.js";
import type { Io } from "../io.js";
import type { ConfigurationAtHand } from "./configuration-at-hand.js";

/** The gateway of this user that runs, as the one server `gateway` of a configuration. Throws a UsageError where none runs. */
export async function gatewayAtHand({ env }: Io): Promise<ConfigurationAtHand & { readonly variables: Variables }> {
  const running = await requireGateway(env);
  const secrets = createSecretRegistry();
  const headers: Record<string, string> =
    running.token === undefined ? {} : { Authorization: `Bearer ${running.token}` };
  return {
    file: "",
    pluginRoot: process.cwd(),
    configuration: createConfiguration({ gateway: { url: running.endpoint, headers } }, { secrets }),
    secrets,
    variables: env,
  };
}
