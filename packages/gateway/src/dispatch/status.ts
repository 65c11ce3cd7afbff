import type { JsonObject } from "@wirescope/tool-server/internal";
import type { Upstream } from "../servers/upstream.js";

/** The resource with the state of each server behind the gateway. No server can take its URI: theirs begin with their name and a slash. */
export const statusUri = "wirescope://status";

const statusMimeType = "application/json";

/** How the resource is listed. */
export const statusResource: JsonObject = {
  uri: statusUri,
  name: "wirescope_status",
  title: "Servers behind the gateway",
  description: "Which servers are connected, how many tools each offers, and why others are not available.",
  mimeType: statusMimeType,
};

/** What a client that reads the resource gets. */
export function readStatus(upstreams: readonly Upstream[]): JsonObject {
  const servers = upstreams.map((upstream) => {
    const { name, tools, failure } = upstream.status();
    const state = availabilityOf(upstream);
    if (state === "failing") {
      return { name, state, code: failure?.code, reason: upstream.redact(failure?.message ?? "") };
    }
    return { name, state, tools };
  });
  const text = JSON.stringify({ servers }, undefined, 2);
  return { contents: [{ uri: statusUri, mimeType: statusMimeType, text }] };
}

/** What the instructions say about servers that failed, whose tools are missing; undefined if none did. */
export function unavailableText(upstreams: readonly Upstream[]): string | undefined {
  const lines = upstreams.flatMap((upstream) => {
    if (availabilityOf(upstream) !== "failing") return [];
    const { name, failure } = upstream.status();
    return [`- ${name}: ${shortened(upstream.redact(failure?.message ?? ""))}`];
  });
  if (lines.length === 0) return undefined;
  return [
    "## Not available now",
    "",
    `These servers are not connected, so their tools are missing. The resource ${statusUri} has the current state.`,
    "",
    ...lines,
  ].join("\n");
}

function availabilityOf(upstream: Upstream): "connected" | "connecting" | "failing" {
  const { state, failure } = upstream.status();
  // A server that failed before is failing while it is tried again, too.
  if (state === "READY") return "connected";
  return failure === undefined ? "connecting" : "failing";
}

/** How much of a reason the instructions repeat, in characters. */
const maxReasonLength = 300;

function shortened(text: string): string {
  const reason = text.replace(/\s+/g, " ");
  return reason.length > maxReasonLength ? `${reason.slice(0, maxReasonLength)}…` : reason;
}
