import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { expect, onTestFinished, vi } from "vitest";
import type { ToolServerError } from "../../errors.js";
import { failureOf } from "../../failure-of.test.helper.js";
import { waiting } from "../../waiting.test.helper.js";
import type { ToolTransport } from "./transport.js";
import { listenTo, type Published, type TestContext } from "./transport-context.test.helper.js";

/** A transport, and its events. */
export interface WatchedTransport<Kind extends ToolTransport = ToolTransport> {
  readonly transport: Kind;
  /** The messages that the client received. */
  readonly messages: readonly JSONRPCMessage[];
  readonly published: Published;
  /** How often `onclose` was called. */
  closings(): number;
  /** How it ended, once it did. */
  failure(): Promise<ToolServerError>;
}

/** Observes a transport that is not yet started, and closes it with the test. */
export function watchTransport<Kind extends ToolTransport>(
  transport: Kind,
  { info }: Pick<TestContext, "info">,
): WatchedTransport<Kind> {
  const published = listenTo(info);
  const messages: JSONRPCMessage[] = [];
  let closings = 0;
  transport.onmessage = (message) => void messages.push(message as JSONRPCMessage);
  transport.onclose = () => {
    closings += 1;
  };
  onTestFinished(() => transport.close());
  return {
    transport,
    messages,
    published,
    closings: () => closings,
    failure: () =>
      vi.waitFor(() => {
        expect(closings).toBe(1);
        if (transport.failure === undefined) throw new Error("closed without a failure");
        return transport.failure;
      }, waiting),
  };
}

/** Why a start failed; it has closed by then, once. */
export async function failedStart({ transport, closings }: WatchedTransport): Promise<ToolServerError> {
  const error = await failureOf(transport.start());
  expect(transport.failure).toBe(error);
  expect(closings()).toBe(1);
  await transport.close();
  expect(closings()).toBe(1);
  return error;
}

/** A request of which only the id matters. */
export function requestOf(id: number | string, params?: Record<string, unknown>): JSONRPCMessage {
  return { jsonrpc: "2.0", id, method: "test/any", ...(params === undefined ? {} : { params }) };
}
