import type { CallOutcome } from "@wirescope/tool-server/internal";
import { expect, test } from "vitest";
import { type CallObserver, joinObservers } from "../call-observer.js";
import { createAccounts } from "../callers/accounts.js";
import { StatelessCall } from "../callers/stateless-call.js";
import { completeLimits } from "../limits.js";
import { createTraceFieldReader } from "../trace-fields.js";
import { createDispatch } from "./dispatch.js";
import type { MergedServer } from "./merged-server.js";

function setUp(observer: CallObserver = {}, handle: MergedServer["handle"] = async () => ({ done: true })) {
  const defects: string[] = [];
  const onDefect = (error: unknown): void => void defects.push((error as Error).message);
  const dispatch = createDispatch({
    merged: { has: () => true, handle },
    observers: joinObservers([observer], onDefect),
    events: { emit() {}, reportDefect: onDefect, reportIfDefect: onDefect },
    traceFields: createTraceFieldReader([]),
    retry: undefined,
    contact: () => undefined,
  });
  const accounts = createAccounts(completeLimits());
  const account = accounts.create({ principal: "p", rateKey: "p" }, undefined);
  const options = { subject: "", account, capabilities: {}, logLevel: undefined, headers: undefined };
  return { dispatch, defects, accounts, account, request: { id: 1, method: "tools/call" }, options };
}

const fail = (what: string) => (): never => {
  throw new Error(what);
};

test("reports an observer that throws as a defect, and settles the call", async () => {
  const { dispatch, defects, request, options, account } = setUp({ started: fail("started"), ended: fail("ended") });
  const call = new StatelessCall(request, options);
  dispatch(call);
  await expect.poll(() => call.outcome).toEqual({ result: { done: true } });
  expect(defects).toEqual(["started", "ended"]);
  expect(account.calls.size).toBe(0);
});

test("reports a response that cannot be written as a defect, sends an error instead, and leaves no call in flight", async () => {
  const written: CallOutcome[] = [];
  class UnwritableCall extends StatelessCall {
    override respond(outcome: CallOutcome): void {
      if (outcome.error === undefined) throw new Error("unwritable");
      written.push(outcome);
    }
  }
  const { dispatch, defects, request, options, account, accounts } = setUp();
  dispatch(new UnwritableCall(request, options));
  expect(account.calls.size).toBe(1);
  await expect.poll(() => defects).toEqual(["unwritable"]);
  expect(written).toEqual([{ error: { code: -32_603, message: "Internal gateway error." }, status: 500 }]);
  expect(account.calls.size).toBe(0);
  await accounts.idle(0, new Error("stop"));
});

test("sends the response of a call although something that waits for the call throws when it ends", async () => {
  const { dispatch, defects, request, options } = setUp();
  const call = new StatelessCall(request, options);
  const order: string[] = [];
  call.addEventListener("abort", fail("the first listener"));
  call.addEventListener("abort", () => void order.push("the second listener"));
  dispatch(call);
  const writer = { isOpen: true, send() {}, respond() {}, end() {} };
  expect(await call.runRound(writer, undefined)).toEqual({ result: { done: true } });
  expect([order, defects]).toEqual([["the second listener"], ["the first listener"]]);
});

test("settles a call once, and remembers that its client cancelled it", async () => {
  const endings: string[] = [];
  const { dispatch, request, options } = setUp({ ended: (_, { kind }) => void endings.push(kind) });
  const call = new StatelessCall(request, options);
  dispatch(call);
  call.cancel();
  await expect.poll(() => call.outcome).toBeDefined();
  call.settle({ result: { late: true } });
  expect([endings, call.outcome, call.isAbandoned]).toEqual([["ok"], { result: { done: true } }, true]);
});
