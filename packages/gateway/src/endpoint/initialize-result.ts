import { type JsonObject, legacyVersions } from "@wirescope/tool-server/rpc";
import type { Hub } from "../dispatch/hub.js";

/** What the handshake of the older era is answered with: in the version asked for where it is spoken, else in the newest. */
export function initializeResult(hub: Hub, requested: string): JsonObject & { readonly protocolVersion: string } {
  const isSpoken = legacyVersions.includes(requested as (typeof legacyVersions)[number]);
  return {
    protocolVersion: isSpoken ? requested : legacyVersions[0],
    capabilities: hub.capabilities,
    serverInfo: hub.info,
    instructions: hub.instructions(),
  };
}
