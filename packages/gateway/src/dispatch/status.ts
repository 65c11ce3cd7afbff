import type { RpcObject } from "@wirescope/tool-server/internal";
import { clientMessage } from "../client-message.js";
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
export function readStatus(servers: readonly GatewayServer[], contact: string | undefined): RpcObject {
  const statuses = servers.map((server) => {
    const { name, tools, failure } = server.status();
    const state = availabilityOf(server);
    if (state === "failing") {
      const message = failure?.error === undefined ? (failure?.message ?? "") : clientMessage(failure.error, contact);
      return { name, state, code: failure?.code, reason: server.redact(message, "own") };
    }
    return { name, state, tools };
  });
  const text = JSON.stringify({ servers: statuses }, undefined, 2);
  return { contents: [{ uri: statusUri, mimeType: statusMimeType, text }] };
}

/** Whether a server can be used. */
export function availabilityOf(server: GatewayServer): "connected" | "connecting" | "failing" {
  const { state, failure } = server.status();
  // A server that failed is still failing while it reconnects.
  if (state === "READY" && failure === undefined) return "connected";
  return failure === undefined ? "connecting" : "failing";
}
