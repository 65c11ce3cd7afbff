import type { RpcMessage } from "@wirescope/tool-server/internal";
import { expect, test } from "vitest";
import { completeLimits } from "../limits.js";
import { createAccounts } from "./accounts.js";
import type { MessageWriter } from "./message-writer.js";
import { createParkedCalls } from "./parked-calls.js";
import { StatelessCall } from "./stateless-call.js";

/** A call for which the test acts as the server. */
function startCall() {
  const account = createAccounts(completeLimits()).create({ principal: "p", rateKey: "p" }, undefined);
  const options = { subject: "a call", account, capabilities: {}, logLevel: undefined, headers: undefined };
  const call = new StatelessCall({ id: 1, method: "tools/call" }, options);
  return { call, server: call, finish: (text: string) => call.respond({ result: { text } }) };
}

/** A writer that records what it sends. */
function recordingOutlet(): { writer: MessageWriter; received: () => readonly unknown[] } {
  const messages: RpcMessage[] = [];
  const writer: MessageWriter = {
    isOpen: true,
    send: (message) => void messages.push(message),
    respond() {},
    end() {},
  };
  return { writer, received: () => messages.map((message) => ("params" in message ? message.params : undefined)) };
}

test("sends notifications that arrive between two rounds in the next round, with its token, and none twice", async () => {
  const { call, server, finish } = startCall();
  const progress = (step: number) =>
    server.notify("notifications/progress", { progress: step, progressToken: server.progressToken });
  const first = recordingOutlet();
  const firstRound = call.runRound(first.writer, 3);
  progress(1);
  const response = server.ask("roots/list", undefined);
  expect(await firstRound).toEqual({ inputRequests: { "ask-1": { method: "roots/list" } } });
  progress(2);
  server.notify("notifications/message", { level: "info", data: "between" });
  const second = recordingOutlet();
  call.receiveInput({ "ask-1": { roots: [] } });
  const done = call.runRound(second.writer, 4);
  expect(await response).toEqual({ roots: [] });
  progress(3);
  finish("whole");
  expect(await done).toEqual({ result: { text: "whole" } });
  expect(first.received()).toEqual([{ progress: 1, progressToken: 3 }]);
  expect(second.received()).toEqual([
    { progress: 2, progressToken: 4 },
    { level: "info", data: "between" },
    { progress: 3, progressToken: 4 },
  ]);
});

test("keeps the latest notifications between two rounds, and drops progress for a round without a token", async () => {
  const { call, server, finish } = startCall();
  const firstRound = call.runRound(recordingOutlet().writer, 3);
  const response = server.ask("roots/list", undefined);
  await firstRound;
  for (let step = 1; step <= 40; step += 1) server.notify("notifications/message", { level: "info", data: step });
  server.notify("notifications/progress", { progress: 1, progressToken: 3 });
  const second = recordingOutlet();
  call.receiveInput({ "ask-1": { roots: [] } });
  const done = call.runRound(second.writer, undefined);
  await response;
  finish("whole");
  await done;
  expect(second.received()).toHaveLength(31);
  expect(second.received().at(-1)).toEqual({ level: "info", data: 40 });
});

test("keeps no more than the limit for a server between two rounds", async () => {
  const { call, server, finish } = startCall();
  const large = "x".repeat(200_000);
  const firstRound = call.runRound(recordingOutlet().writer, 3);
  // During a round, a request may be large.
  server.ask("sampling/createMessage", { text: large.repeat(3) }).catch(() => {});
  expect(await firstRound).toHaveProperty("inputRequests.ask-1.params.text.length", 600_000);
  for (const data of [1, large, large, 2]) server.notify("notifications/message", { level: "info", data });
  await expect(server.ask("sampling/createMessage", { text: large })).rejects.toThrow("are kept until it returns");
  finish(large);
  const second = recordingOutlet();
  expect(await call.runRound(second.writer, 4)).toMatchObject({
    error: { message: expect.stringContaining("The call waits for input from the client") },
  });
  expect(second.received()).toEqual([1, large, 2].map((data) => ({ level: "info", data })));
});

test("parks calls while their input requests fit into the common limit", () => {
  const parked = createParkedCalls({ max: 9, timeoutMs: 60_000 });
  const { call } = startCall();
  const half = 128 * 1024 * 1024;
  const [first = "", second] = [parked.park(call, half), parked.park(call, half)];
  expect(second).toBeDefined();
  expect(parked.park(call, 1)).toBeUndefined();
  expect(parked.take(first, "p", "a call")).toBe(call);
  expect(parked.park(call, half)).toBeDefined();
  parked.close();
});
