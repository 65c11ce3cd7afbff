import type { RpcObject } from "@wirescope/tool-server/internal";
import { expect, test } from "vitest";
import { createAccounts } from "../callers/accounts.js";
import type { MessageWriter } from "../callers/message-writer.js";
import { SessionCall } from "../callers/session-call.js";
import { StatelessCall } from "../callers/stateless-call.js";
import type { ClientCall } from "../client-call.js";
import { completeLimits } from "../limits.js";
import { forwardServerRequest } from "./server-requests.js";

/** A call whose client responds with its name. */
class NamedCall extends StatelessCall {
  override ask(): Promise<RpcObject> {
    return Promise.resolve({ action: "accept", content: { name: this.subject } });
  }
}

function callOf(name: string, capabilities: RpcObject = { elicitation: { form: {} } }): ClientCall {
  const account = createAccounts(completeLimits()).create({ principal: "p", rateKey: "p" }, undefined);
  const options = { subject: name, account, capabilities, logLevel: undefined, headers: undefined };
  return new NamedCall({ id: 1, method: "tools/call" }, options);
}

const ask = (call: ClientCall | undefined, calls: readonly ClientCall[]) => {
  const params = { mode: "form", message: "Who?", requestedSchema: { type: "object", properties: {} } };
  const request = { method: "elicitation/create", params, origin: { call, signal: undefined } };
  return forwardServerRequest("s", request, new Set(calls));
};

test("forwards a request on the stream of a call to the client of that call", async () => {
  const [a, b] = [callOf("a"), callOf("b")];
  expect(await ask(b, [a, b])).toMatchObject({ content: { name: "b" } });
});

test("rejects a request that belongs to an ended call, even if one other call is in flight", async () => {
  const [over, other] = [callOf("over"), callOf("other")];
  await expect(ask(over, [other])).rejects.toThrow("The call that this request belongs to has ended.");
});

test("forwards a request without a call to the only client that supports it, and rejects it if there are several or none", async () => {
  const [a, b, mute] = [callOf("a"), callOf("b"), callOf("mute", {})];
  expect(await ask(undefined, [a, mute])).toMatchObject({ content: { name: "a" } });
  await expect(ask(undefined, [a, b])).rejects.toThrow("nothing identifies the one that it belongs to");
  await expect(ask(undefined, [mute])).rejects.toThrow("no client with a call in flight supports it");
});

test("treats no call as silent while its client responds to a request that may belong to several of its calls", async () => {
  const account = createAccounts(completeLimits()).create({ principal: "p", rateKey: "p" }, undefined);
  const session = { id: "s", shortId: "s", protocolVersion: "2025-11-25", account, logLevel: undefined };
  const asked: unknown[] = [];
  let respond = (_: RpcObject): void => {};
  const host = {
    session: { ...session, setLogLevel() {}, touch() {}, watch: () => Promise.resolve(), unwatch() {} },
    capabilities: { elicitation: { form: {} } },
    reach: () => undefined,
    notify() {},
    ask(call: SessionCall) {
      asked.push(call.id);
      return new Promise<RpcObject>((resolve) => {
        respond = resolve;
      });
    },
  };
  const writer: MessageWriter = { isOpen: true, send() {}, respond() {}, end() {} };
  const calls = [1, 2].map(
    (id) => new SessionCall(host, { jsonrpc: "2.0", id, method: "tools/call" }, writer, undefined),
  );
  const response = ask(undefined, calls);
  expect(asked).toEqual([2]);
  expect(calls.map(({ openRequests }) => openRequests)).toEqual([1, 1]);
  respond({ action: "decline" });
  await response;
  expect(calls.map(({ openRequests }) => openRequests)).toEqual([0, 0]);
  await expect(ask(undefined, [...calls, callOf("another")])).rejects.toThrow("3 calls are in flight");
});
