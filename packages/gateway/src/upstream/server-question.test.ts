import { expect, test } from "vitest";
import { createCallOff } from "../clients/call-off.js";
import type { Caller } from "../clients/caller.js";
import { passOnQuestion } from "./server-question.js";
import { UpstreamCall } from "./upstream-call.js";

/** A call of a client that can be asked, and says who it is. */
function callOf(name: string, capabilities: object = { elicitation: { form: {} } }): UpstreamCall {
  const caller: Partial<Caller> = {
    capabilities: { ...capabilities },
    callOff: createCallOff(),
    ask: async () => ({ action: "accept", content: { name } }),
  };
  return new UpstreamCall(caller as Caller, "s", "tools/call");
}

const ask = (call: UpstreamCall | undefined, calls: readonly UpstreamCall[]) => {
  const params = { mode: "form", message: "Who?", requestedSchema: { type: "object", properties: {} } };
  const question = { method: "elicitation/create", params, origin: { call, signal: undefined } };
  return passOnQuestion("s", question, new Set(calls));
};

test("a question on the stream of a call is for the client of that call", async () => {
  const [a, b] = [callOf("a"), callOf("b")];
  expect(await ask(b, [a, b])).toMatchObject({ content: { name: "b" } });
});

test("a question of a call that is over is for nobody, also where one other call is in flight", async () => {
  const [over, other] = [callOf("over"), callOf("other")];
  await expect(ask(over, [other])).rejects.toThrow("The call that this is about is over.");
});

test("a question that nothing marks is for the only one that could answer, else for nobody", async () => {
  const [a, b, mute] = [callOf("a"), callOf("b"), callOf("mute", {})];
  expect(await ask(undefined, [a, mute])).toMatchObject({ content: { name: "a" } });
  await expect(ask(undefined, [a, b])).rejects.toThrow("nothing says which one it is for");
  await expect(ask(undefined, [mute])).rejects.toThrow("No client is there to answer");
});
