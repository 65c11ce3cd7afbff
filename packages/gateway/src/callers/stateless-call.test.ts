import type { CallOutcome, RpcMessage } from "@wirescope/tool-server/internal";
import { expect, test } from "vitest";
import { completeLimits } from "../limits.js";
import { createAccounts } from "./accounts.js";
import type { Outlet } from "./outlet.js";
import { createParkedCalls } from "./parked-calls.js";
import { type InputRequests, StatelessCall } from "./stateless-call.js";

/** A call whose server is the test. */
function startCall() {
  const account = createAccounts(completeLimits()).create({ principal: "p", rateKey: "p" }, undefined);
  const options = { subject: "a call", account, capabilities: {}, logLevel: undefined, headers: undefined };
  const call = new StatelessCall({ id: 1, method: "tools/call" }, options);
  return { call, server: call, finish: (text: string) => call.settle({ result: { text } }) };
}

/** A request of the client, and what it hears. */
function listen(): { outlet: Outlet; received: () => readonly unknown[] } {
  const heard: RpcMessage[] = [];
  const outlet: Outlet = { isOpen: true, send: (message) => void heard.push(message), respond() {}, end() {} };
  return { outlet, received: () => heard.map((message) => ("params" in message ? message.params : undefined)) };
}

const legOf = (call: ReturnType<typeof startCall>["call"], outlet: Outlet, token: number | undefined) =>
  new Promise<CallOutcome | InputRequests>((resolve) => call.leg(outlet, token, resolve));

test("sends notifications between two legs of a call in the next leg, with its token, and none twice", async () => {
  const { call, server, finish } = startCall();
  const progress = (step: number) =>
    server.notify("notifications/progress", { progress: step, progressToken: server.progressToken });
  const first = listen();
  const asked = legOf(call, first.outlet, 3);
  progress(1);
  const response = server.ask("roots/list", undefined);
  expect(await asked).toEqual({ questions: { "ask-1": { method: "roots/list" } } });
  progress(2);
  server.notify("notifications/message", { level: "info", data: "between" });
  const second = listen();
  call.respond({ "ask-1": { roots: [] } });
  const done = legOf(call, second.outlet, 4);
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

test("keeps the latest notifications between two legs, and drops progress for a leg without a token", async () => {
  const { call, server, finish } = startCall();
  const asked = legOf(call, listen().outlet, 3);
  const response = server.ask("roots/list", undefined);
  await asked;
  for (let step = 1; step <= 40; step += 1) server.notify("notifications/message", { level: "info", data: step });
  server.notify("notifications/progress", { progress: 1, progressToken: 3 });
  const second = listen();
  call.respond({ "ask-1": { roots: [] } });
  const done = legOf(call, second.outlet, undefined);
  await response;
  finish("whole");
  await done;
  expect(second.received()).toHaveLength(31);
  expect(second.received().at(-1)).toEqual({ level: "info", data: 40 });
});

test("does not let a server make the gateway keep more than the limit between two legs", async () => {
  const { call, server, finish } = startCall();
  const large = "x".repeat(200_000);
  const asked = legOf(call, listen().outlet, 3);
  // While the client listens, a question may be large.
  server.ask("sampling/createMessage", { text: large.repeat(3) }).catch(() => {});
  expect(await asked).toHaveProperty("questions.ask-1.params.text.length", 600_000);
  for (const data of [1, large, large, 2]) server.notify("notifications/message", { level: "info", data });
  await expect(server.ask("sampling/createMessage", { text: large })).rejects.toThrow("are kept until it returns");
  finish(large);
  const second = listen();
  expect(await legOf(call, second.outlet, 4)).toMatchObject({
    fault: { message: expect.stringContaining("The call waits for input from the client") },
  });
  expect(second.received()).toEqual([1, large, 2].map((data) => ({ level: "info", data })));
});

test("parks calls while their questions fit into the common limit", () => {
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
