import type { RpcObject } from "@wirescope/tool-server/internal";
import type { GatewayServer } from "../servers/server.js";

/** The resource with the state of each server. It cannot collide: the URIs of servers have a name and a slash after the scheme. */
export const statusUri = "wirescope://status";

const statusMimeType = "application/json";

/** How the resource is listed. */
export const statusResource: RpcObject = {
  uri: statusUri,
  name: "wirescope_status",
  title: "Servers behind the gateway",
  description: "Which servers are connected, how many tools each offers, and why others are not available.",
  mimeType: statusMimeType,
};

/** The content of the resource. */
export function readStatus(servers: readonly GatewayServer[]): RpcObject {
  const statuses = servers.map((server) => {
    const { name, tools, failure } = server.status();
    const state = availabilityOf(server);
    if (state === "failing") {
      return { name, state, code: failure?.code, reason: server.redact(failure?.message ?? "") };
    }
    return { name, state, tools };
  });
  const text = JSON.stringify({ servers: statuses }, undefined, 2);
  return { contents: [{ uri: statusUri, mimeType: statusMimeType, text }] };
}

/** The part of the instructions about failed servers; undefined if none failed. */
export function unavailableText(servers: readonly GatewayServer[]): string | undefined {
  const lines = servers.flatMap((server) => {
    if (availabilityOf(server) !== "failing") return [];
    const { name, failure } = server.status();
    return [`- ${name}: ${shortened(server.redact(failure?.message ?? ""))}`];
  });
  if (lines.length === 0) return undefined;
  return [
    "## Currently unavailable",
    "",
    `These servers do not work, so their tools are missing. The resource ${statusUri} has the current state.`,
    "",
    ...lines,
  ].join("\n");
}

function availabilityOf(server: GatewayServer): "connected" | "connecting" | "failing" {
  const { state, failure } = server.status();
  // A server that failed is still failing while it reconnects.
  if (state === "READY" && failure === undefined) return "connected";
  return failure === undefined ? "connecting" : "failing";
}

/** The maximum length of a reason in the instructions, in characters. */
const maxReasonLength = 300;

function shortened(text: string): string {
  const reason = text.replace(/\s+/g, " ");
  return reason.length > maxReasonLength ? `${reason.slice(0, maxReasonLength)}…` : reason;
}
