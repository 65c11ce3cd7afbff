import { Code, ConnectError } from "@connectrpc/connect";
import { notTrusted } from "@wirescope/tool-server";
import type { GatewayConfiguration } from "../servers/gateway-configuration.js";
import type { GatewayServer } from "../servers/server.js";
import { fingerprintOf } from "./messages/approval-message.js";

/** Approves an entry exactly as it was shown. */
export async function approve(
  server: GatewayServer,
  configured: GatewayConfiguration | undefined,
  shown: string,
): Promise<void> {
  const { name, entry } = server;
  const trust = trustOf(configured);
  if (shown === "") {
    throw new ConnectError(
      "fingerprint is missing. Set it to the fingerprint that GetApproval returned.",
      Code.InvalidArgument,
    );
  }
  const { toolChanges } = server.status();
  const decision = await trust.evaluate(entry);
  if (decision.state === "denied") throw notTrusted(name, decision);
  if (fingerprintOf(decision, toolChanges) !== shown) {
    throw new ConnectError(
      `Server ${JSON.stringify(name)} has changed since it was shown: its entry, a file that it runs, or a tool. Review it again.`,
      Code.Aborted,
    );
  }
  // What was compared is approved: a file that changes later requires a new approval.
  if (decision.state !== "trusted") await trust.approve(decision.subject);
  await server.acceptToolChanges(toolChanges);
}

/** Evaluates and stores approvals of a configuration. Throws UNIMPLEMENTED if the gateway cannot store them. */
export function trustOf(configured: GatewayConfiguration | undefined): NonNullable<GatewayConfiguration["trust"]> {
  if (configured?.trust !== undefined) return configured.trust;
  throw new ConnectError(
    "This gateway cannot store approvals. Approve its servers in the program that started it.",
    Code.Unimplemented,
  );
}
