import type { JsonObject } from "@wirescope/tool-server/internal";
import { expect, test } from "vitest";
import { createAccounts } from "../callers/accounts.js";
import { StatelessCall } from "../callers/stateless-call.js";
import type { ClientCall } from "../client-call.js";
import { completeLimits } from "../limits.js";
import { passOnQuestion } from "./server-question.js";

/** A call of a client that can be asked, and says who it is. */
class NamedCall extends StatelessCall {
  override ask(): Promise<JsonObject> {
    return Promise.resolve({ action: "accept", content: { name: this.subject } });
  }
}

function callOf(name: string, capabilities: JsonObject = { elicitation: { form: {} } }): ClientCall {
  const account = createAccounts(completeLimits()).create({ principal: "p", rateKey: "p" }, undefined);
  const options = { subject: name, account, capabilities, logLevel: undefined, headers: undefined };
  return new NamedCall({ id: 1, method: "tools/call" }, options);
}

const ask = (call: ClientCall | undefined, calls: readonly ClientCall[]) => {
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
