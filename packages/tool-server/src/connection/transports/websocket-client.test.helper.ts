import { expect, vi } from "vitest";
import type { ToolServerError } from "../../errors.js";
import { waiting } from "../../waiting.test.helper.js";
import { createNetworkContext, type NetworkChanges } from "./network-context.test.helper.js";
import type { ToolTransport } from "./transport.js";
import { failedStart, type WatchedTransport, watchTransport } from "./watched-transport.test.helper.js";
import { createWebSocketTransport, type WebSocketOptions } from "./websocket-transport.js";

/** A transport to a WebSocket, which is not started yet. */
export function prepareWebSocket(
  { url }: { readonly url: string },
  changes: NetworkChanges = {},
  options: WebSocketOptions = {},
): WatchedTransport & { readonly refusals: readonly number[] } {
  const context = createNetworkContext("ws", url, changes);
  return { ...watchTransport(createWebSocketTransport(context, options), context), refusals: context.refusals };
}

/** Why the upgrade failed; nothing is left of its connections by then. */
export async function failedUpgrade(subject: WatchedTransport): Promise<ToolServerError> {
  const error = await failedStart(subject);
  await vi.waitFor(() => {
    const { opened, closed } = subject.published.totals();
    expect(closed).toBe(opened);
  }, waiting);
  return error;
}

/** Starts it; what ends it may come as soon as it is open, and then the start fails. */
export async function startAnyhow(transport: ToolTransport): Promise<void> {
  await transport.start().catch((error: unknown) => expect(error).toBe(transport.failure));
}
