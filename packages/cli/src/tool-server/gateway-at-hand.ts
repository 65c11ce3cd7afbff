import { createSecretRegistry } from "@wirescope/tool-server";
import { parseConfiguration, type Variables } from "@wirescope/tool-server/config";
import { requireGateway } from "../gateway-file.js";
import type { Io } from "../io.js";
import type { ConfigurationAtHand } from "./configuration-at-hand.js";

/** The gateway of this user that runs, as the one server `gateway` of a configuration. Throws a UsageError where none runs. */
export async function gatewayAtHand({ env }: Io): Promise<ConfigurationAtHand & { readonly variables: Variables }> {
  const running = await requireGateway(env);
  const secrets = createSecretRegistry();
  const headers = running.token === undefined ? {} : { headers: { Authorization: "Bearer ${GATEWAY_TOKEN}" } };
  const entry = { type: "http", url: running.endpoint, ...headers };
  return {
    file: "",
    pluginRoot: process.cwd(),
    configuration: parseConfiguration(JSON.stringify({ gateway: entry }), { allowInsecureLoopback: true, secrets }),
    secrets,
    variables: { ...env, GATEWAY_TOKEN: running.token },
  };
}
