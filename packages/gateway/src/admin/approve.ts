import { Code, ConnectError } from "@connectrpc/connect";
import { notTrusted, type TrustJudgement } from "@wirescope/tool-server";
import type { PluginServers } from "../servers/plugin-servers.js";
import type { GatewayServer } from "../servers/server.js";
import { fingerprintOf } from "./messages/approval-message.js";

/** Whether the entry of a server may act. Rejects as `judgeTrust` does, and with UNIMPLEMENTED where nothing is approved here. */
export function judgeServer({ entry }: GatewayServer, plugin: PluginServers | undefined): Promise<TrustJudgement> {
  return trustOf(plugin).judge(entry);
}

/** Approves an entry as it was shown, and as nothing else. */
export async function approve(server: GatewayServer, plugin: PluginServers | undefined, shown: string): Promise<void> {
  const { name, entry } = server;
  const trust = trustOf(plugin);
  if (shown === "") {
    throw new ConnectError(
      "An approval is of what was shown. Give the fingerprint that GetApproval answers with.",
      Code.InvalidArgument,
    );
  }
  const judgement = await trust.judge(entry);
  if (judgement.state === "denied") throw notTrusted(name, judgement);
  if (fingerprintOf(judgement) !== shown) {
    throw new ConnectError(
      `The server ${JSON.stringify(name)} is not what was shown any more: its entry or a file that it runs has changed. Look at it again.`,
      Code.Aborted,
    );
  }
  // The very thing that was compared is approved: a file that changes from now on asks again.
  if (judgement.state !== "trusted") await trust.approve(judgement.subject);
}

function trustOf(plugin: PluginServers | undefined): NonNullable<PluginServers["trust"]> {
  if (plugin?.trust !== undefined) return plugin.trust;
  throw new ConnectError(
    "This gateway was not told how its servers are approved. Approve them where it was started.",
    Code.Unimplemented,
  );
}
